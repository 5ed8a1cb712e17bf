#include "language/bit_choice.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace fettle::language {
namespace {

using Items = std::vector<std::vector<SizeOption>>;

/// A partial choice.
struct Label {
  int64_t bytes = 0;
  double damage = 0;
  int32_t from = -1;  // of the items before
  int32_t option = 0;
};

double Priced(const SizeOption& option, double price) {
  return option.damage + price * static_cast<double>(option.bytes);
}

struct AtPrice {
  std::vector<int> options;
  int64_t bytes = 0;
  double damage = 0;
};
AtPrice ChooseAt(const Items& items, double price) {
  AtPrice chosen;
  for (const auto& options : items) {
    const auto best = std::ranges::min_element(options, [price](const auto& a, const auto& b) {
      const double of_a = Priced(a, price), of_b = Priced(b, price);
      return of_a != of_b ? of_a < of_b : a.bytes < b.bytes;
    });
    chosen.options.push_back(static_cast<int>(best - options.begin()));
    chosen.bytes += best->bytes;
    chosen.damage += best->damage;
  }
  return chosen;
}

/// The smallest price whose choice fits, to many digits, and that choice.
AtPrice FitByPrice(const Items& items, int64_t limit, double* price) {
  double low = 0, high = 1e-12;
  *price = 0;
  AtPrice best = ChooseAt(items, 0);
  if (best.bytes <= limit) return best;
  for (best = ChooseAt(items, high); best.bytes > limit && high < 1e30;
       best = ChooseAt(items, high)) {
    low = high;
    high *= 8;
  }
  for (int turn = 0; turn < 60; ++turn) {
    const double middle = (low + high) / 2;
    AtPrice at = ChooseAt(items, middle);
    (at.bytes <= limit ? high : low) = middle;
    if (at.bytes <= limit) best = std::move(at);
  }
  *price = high;
  return best;
}

/// The least that items from each one on may add, with bytes at a price; and their least bytes.
struct Rest {
  std::vector<double> priced;
  std::vector<int64_t> bytes;
};
Rest RestsOf(const Items& items, double price) {
  Rest rest{std::vector<double>(items.size() + 1), std::vector<int64_t>(items.size() + 1)};
  for (size_t i = items.size(); i-- > 0;) {
    double priced = HUGE_VAL;
    int64_t bytes = INT64_MAX;
    for (const SizeOption& option : items[i]) {
      priced = std::min(priced, Priced(option, price));
      bytes = std::min(bytes, option.bytes);
    }
    rest.priced[i] = priced + rest.priced[i + 1];
    rest.bytes[i] = bytes + rest.bytes[i + 1];
  }
  return rest;
}

/// Those that no other beats, by ascending bytes.
void KeepBest(std::vector<Label>& labels) {
  std::ranges::sort(labels, [](const Label& a, const Label& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.damage < b.damage;
  });
  double least = HUGE_VAL;
  std::erase_if(labels, [&](const Label& label) {
    if (label.damage >= least) return true;
    least = label.damage;
    return false;
  });
}

}  // namespace

Result<std::vector<int>> ChooseSizes(const Items& items, int64_t limit) {
  double price = 0;
  const AtPrice start = FitByPrice(items, limit, &price);
  const Rest rest = RestsOf(items, price);
  if (rest.bytes[0] > limit)
    return Unsupported("the smallest size is {} bytes, the budget {}", rest.bytes[0], limit);
  // What may still be better than the choice at that price; ties in the last digits are not.
  const double upper = start.bytes <= limit ? start.damage * (1 - 1e-12) : HUGE_VAL;
  std::vector<std::vector<Label>> steps(items.size() + 1);
  steps[0].push_back({});
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t from = 0; from < steps[i].size(); ++from) {
      for (size_t option = 0; option < items[i].size(); ++option) {
        const int64_t bytes = steps[i][from].bytes + items[i][option].bytes;
        const double damage = steps[i][from].damage + items[i][option].damage;
        if (bytes > limit - rest.bytes[i + 1]) continue;
        if (damage + rest.priced[i + 1] - price * static_cast<double>(limit - bytes) >= upper)
          continue;
        steps[i + 1].push_back(
            {bytes, damage, static_cast<int32_t>(from), static_cast<int32_t>(option)});
      }
    }
    KeepBest(steps[i + 1]);
  }
  if (steps.back().empty()) return start.options;
  std::vector<int> options(items.size());
  auto at = static_cast<int32_t>(steps.back().size()) - 1;  // the least damage comes last
  for (size_t i = items.size(); i-- > 0;) {
    options[i] = steps[i + 1][at].option;
    at = steps[i + 1][at].from;
  }
  return options;
}

}  // namespace fettle::language
