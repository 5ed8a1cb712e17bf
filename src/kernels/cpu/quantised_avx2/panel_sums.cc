#include "kernels/cpu/quantised_avx2/panel_sums.h"

#include <algorithm>
#include <cstring>

namespace fettle::kernels {
namespace {

/// What the weights of a sign may come to in a 16-bit sum: 255 * 128 is below 2^15.
constexpr int kMost = 128;
/// Sums that a term is tried in: the newest ones, as it is about as heavy as theirs.
constexpr size_t kTried = 24;

constexpr TermLoad LoadOf(int lane, bool negative, int weight) {
  return static_cast<TermLoad>(weight) << (16 * (2 * lane + (negative ? 1 : 0)));
}

bool Fits(TermLoad load) {
  constexpr TermLoad kEach = 0x0001000100010001, kTop = 0x8000800080008000;
  return ((load + kEach * (0x7fff - kMost)) & kTop) == 0;
}

/// The largest of the four parts.
int Peak(TermLoad load) {
  int most = 0;
  for (; load != 0; load >>= 16) most = std::max(most, static_cast<int>(load & 0xffff));
  return most;
}

std::vector<const Term*> HeaviestFirst(std::span<const Term> terms) {
  size_t begin[kMost + 2] = {};
  for (const Term& term : terms) ++begin[kMost - Peak(term.load) + 1];
  for (int i = 0; i <= kMost; ++i) begin[i + 1] += begin[i];
  std::vector<const Term*> sorted(terms.size());
  for (const Term& term : terms) sorted[begin[kMost - Peak(term.load)]++] = &term;
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
  return term;
}

}  // namespace

void AppendTerms(const int16_t* weights, uint8_t step, std::vector<Term>& terms) {
  int rest[4];
  std::copy_n(weights, 4, rest);
  while ((rest[0] | rest[1] | rest[2] | rest[3]) != 0) terms.push_back(TakeTerm(rest, step));
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
    sum.terms[sum.count++] = *term;
    if (sum.count == longest) open.erase(open.begin() + static_cast<int64_t>(at));
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.count > b.count; });
  return sums;
}

TermShape PanelSums::GroupAll(int longest, std::vector<Sums>& all) const {
  // So many sums of a slot's length and longer ones.
  int most[std::size(kSumLengths)] = {};
  all.clear();
  for (const std::vector<Term>& terms : terms_) {
    all.push_back(GroupChannel(terms, longest));
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
  int longest = UsualLength();
  TermShape best = GroupAll(longest, sums_);
  std::vector<Sums> shorter;
  while (longest > 1) {
    const TermShape shape = GroupAll(--longest, shorter);
    const bool fits = best.terms() <= most;
    if (fits && shape.cost() >= best.cost()) break;
    best = shape;
    std::swap(sums_, shorter);
  }
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
          *weights++ = t < count ? sum->terms[t].weights : 0;
          *steps++ = t < count ? sum->terms[t].step : uint8_t{0};
        }
        if (sum != sums.end()) ++sum;
      }
    }
  }
}

}  // namespace fettle::kernels
