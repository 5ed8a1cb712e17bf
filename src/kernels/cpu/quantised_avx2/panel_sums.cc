#include "kernels/cpu/quantised_avx2/panel_sums.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// What the weights of a sign may come to in a 16-bit sum: 255 * 128 is below 2^15.
constexpr int kMost = 128;
/// Sums that a term is tried in: the newest ones, as it is about as heavy as theirs.
constexpr size_t kTried = 24;
/// Terms of a panel's first channels that tell which sums are best.
constexpr int64_t kSampled = 256;

constexpr TermLoad LoadOf(int lane, bool negative, int weight) {
  return static_cast<TermLoad>(weight) << (16 * (2 * lane + (negative ? 1 : 0)));
}

bool Fits(TermLoad load) {
  constexpr TermLoad kEach = 0x0001000100010001, kTop = 0x8000800080008000;
  return ((load + kEach * (0x7fff - kMost)) & kTop) == 0;
}

/// The largest of the four parts.
int Peak(TermLoad load) {
  const auto part = [&](int i) { return static_cast<int>(load >> (16 * i) & 0xffff); };
  return std::max(std::max(part(0), part(1)), std::max(part(2), part(3)));
}

/// Of four weights.
TermLoad Load(const int16_t* weights) {
  TermLoad load = 0;
  for (int i = 0; i < 4; ++i) load += LoadOf(i / 2, weights[i] < 0, std::abs(weights[i]));
  return load;
}

/// Whether they are one term, which has this load.
bool IsOneTerm(const int16_t* weights, TermLoad load) {
  constexpr int kHighest = 127;
  return Fits(load) &&
         std::max(std::max(weights[0], weights[1]), std::max(weights[2], weights[3])) <= kHighest;
}

std::vector<const Term*> HeaviestFirst(std::span<const Term> terms) {
  size_t begin[kMost + 2] = {};
  for (const Term& term : terms) ++begin[kMost - term.peak + 1];
  for (int i = 0; i <= kMost; ++i) begin[i + 1] += begin[i];
  std::vector<const Term*> sorted(terms.size());
  for (const Term& term : terms) sorted[begin[kMost - term.peak]++] = &term;
  return sorted;
}

int SlotOf(int length) {
  int slot = std::size(kSumLengths) - 1;
  while (kSumLengths[slot] < length) --slot;
  return slot;
}

/// Takes as much off the `rest` of a pair of weights as one term can have.
Term TakeTerm(int (&rest)[4], uint8_t step) {
  Term term{.step = step};
  int8_t bytes[4];
  for (int i = 0; i < 4; ++i) {
    const int lane = i / 2;
    const bool negative = rest[i] < 0;
    const int before =
        static_cast<int>(term.load >> (16 * (2 * lane + (negative ? 1 : 0))) & 0xffff);
    const int part = std::min({std::abs(rest[i]), kMost - before, negative ? 128 : 127});
    term.load += LoadOf(lane, negative, part);
    bytes[i] = static_cast<int8_t>(negative ? -part : part);
    rest[i] -= bytes[i];
  }
  std::memcpy(&term.weights, bytes, sizeof(bytes));
  term.peak = static_cast<uint8_t>(Peak(term.load));
  return term;
}

/// Calls f(term) for each of several.
template <typename F>
void ForEachTerm(const int16_t* weights, uint8_t step, const F& f) {
  int rest[4];
  std::copy_n(weights, 4, rest);
  while ((rest[0] | rest[1] | rest[2] | rest[3]) != 0) f(TakeTerm(rest, step));
}

}  // namespace

void AppendTerms(const int16_t* weights, uint8_t step, std::vector<Term>& terms) {
  const TermLoad load = Load(weights);
  if (load == 0) return;
  if (!IsOneTerm(weights, load))
    return ForEachTerm(weights, step, [&](const Term& term) { terms.push_back(term); });
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i)
    bytes |= static_cast<uint32_t>(static_cast<uint8_t>(weights[i])) << (8 * i);
  terms.push_back({.load = load,
                   .weights = static_cast<int32_t>(bytes),
                   .step = step,
                   .peak = static_cast<uint8_t>(Peak(load))});
}

int64_t CountTerms(const int16_t* weights) {
  const TermLoad load = Load(weights);
  if (load == 0 || IsOneTerm(weights, load)) return load == 0 ? 0 : 1;
  int64_t count = 0;
  ForEachTerm(weights, 0, [&](const Term&) { ++count; });
  return count;
}

int64_t TermShape::terms() const {
  int64_t all = 0;
  for (size_t i = 0; i < std::size(kSumLengths); ++i) all += int64_t{kSumLengths[i]} * counts[i];
  return all;
}

int64_t TermShape::sums() const {
  int64_t all = 0;
  for (int count : counts) all += count;
  return all;
}

int64_t PanelSums::most_terms() const {
  size_t most = 0;
  for (const std::vector<Term>& terms : terms_) most = std::max(most, terms.size());
  return static_cast<int64_t>(most);
}

/// The length of sums that three quarters of what they may hold allows on average.
int PanelSums::UsualLength() const {
  int64_t parts[4] = {}, count = 0;
  for (const std::vector<Term>& terms : terms_) {
    count += std::ssize(terms);
    for (const Term& term : terms) {
      for (int i = 0; i < 4; ++i) parts[i] += term.load >> (16 * i) & 0xffff;
    }
  }
  const int64_t heaviest = std::max<int64_t>(*std::max_element(parts, parts + 4), 1);
  return static_cast<int>(std::clamp<int64_t>(count * kMost * 3 / 4 / heaviest, 1, kSumLengths[0]));
}

/// First fit, heaviest first.
PanelSums::Sums PanelSums::GroupChannel(std::span<const Term> terms, int longest) {
  Sums sums;
  std::vector<size_t> open;  // shorter than `longest`
  for (const Term* term : HeaviestFirst(terms)) {
    size_t at = open.size() > kTried ? open.size() - kTried : 0;
    while (at < open.size() && !Fits(sums[open[at]].load + term->load)) ++at;
    if (at == open.size()) {
      open.push_back(sums.size());
      sums.emplace_back();
    }
    Sum& sum = sums[open[at]];
    sum.load += term->load;
    sum.terms[sum.count++] = term;
    if (sum.count == longest) open.erase(open.begin() + static_cast<int64_t>(at));
  }
  Sums longest_first;
  longest_first.reserve(sums.size());
  for (int length = longest; length > 0; --length) {
    for (const Sum& sum : sums) {
      if (sum.count == length) longest_first.push_back(sum);
    }
  }
  return longest_first;
}

TermShape PanelSums::GroupSome(int64_t channels, int longest, std::vector<Sums>& all) const {
  // So many sums of a slot's length and longer ones.
  int most[std::size(kSumLengths)] = {};
  all.clear();
  for (int64_t n = 0; n < channels; ++n) {
    all.push_back(GroupChannel(terms_[n], longest));
    int counts[std::size(kSumLengths)] = {};
    for (const Sum& sum : all.back()) ++counts[SlotOf(sum.count)];
    for (size_t slot = 0, so_far = 0; slot < std::size(kSumLengths); ++slot) {
      so_far += static_cast<size_t>(counts[slot]);
      most[slot] = std::max(most[slot], static_cast<int>(so_far));
    }
  }
  TermShape shape;
  for (size_t slot = 0; slot < std::size(kSumLengths); ++slot)
    shape.counts[slot] = most[slot] - (slot > 0 ? most[slot - 1] : 0);
  return shape;
}

TermShape PanelSums::Group(int64_t most) {
  const int64_t all = std::ssize(terms_);
  const int64_t some = std::min(CeilDiv(kSampled, std::max<int64_t>(most_terms(), 1)), all);
  int longest = UsualLength();
  TermShape best = GroupSome(some, longest, sums_);
  std::vector<Sums> shorter;
  while (longest > 1) {
    const TermShape shape = GroupSome(some, longest - 1, shorter);
    if (shape.cost() >= best.cost()) break;
    --longest;
    best = shape;
    std::swap(sums_, shorter);
  }
  if (some < all) best = GroupSome(all, longest, sums_);
  // Sums of one term are as many as the longest list has.
  while (best.terms() > most) best = GroupSome(all, --longest, sums_);
  return best;
}

void PanelSums::Write(const TermShape& shape, int32_t* weights, uint8_t* steps) const {
  for (const Sums& sums : sums_) {
    auto sum = sums.begin();
    for (size_t slot = 0; slot < std::size(kSumLengths); ++slot) {
      for (int i = 0; i < shape.counts[slot]; ++i) {
        // What a list lacks is filled with weights of 0.
        const int count = sum == sums.end() ? 0 : sum->count;
        for (int t = 0; t < kSumLengths[slot]; ++t) {
          *weights++ = t < count ? sum->terms[t]->weights : 0;
          *steps++ = t < count ? sum->terms[t]->step : uint8_t{0};
        }
        if (sum != sums.end()) ++sum;
      }
    }
  }
}

}  // namespace fettle::kernels
