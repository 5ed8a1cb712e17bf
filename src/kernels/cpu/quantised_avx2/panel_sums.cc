#include "kernels/cpu/quantised_avx2/panel_sums.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantised_avx2/paired_steps.h"

namespace fettle::kernels {
namespace {

/// Sums that a term is tried in: the newest ones, as it is about as heavy as theirs.
constexpr size_t kTried = 24;

constexpr TermLoad LoadOf(int lane, bool negative, int weight) {
  return static_cast<TermLoad>(weight) << (16 * (2 * lane + (negative ? 1 : 0)));
}

bool Fits(TermLoad load) {
  constexpr TermLoad kEach = 0x0001000100010001, kTop = 0x8000800080008000;
  return ((load + kEach * (0x7fff - kMostOfSign)) & kTop) == 0;
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
  size_t begin[kMostOfSign + 2] = {};
  for (const Term& term : terms) ++begin[kMostOfSign - term.peak + 1];
  for (int i = 0; i <= kMostOfSign; ++i) begin[i + 1] += begin[i];
  std::vector<const Term*> sorted(terms.size());
  for (const Term& term : terms) sorted[begin[kMostOfSign - term.peak]++] = &term;
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
    const int part = std::min({std::abs(rest[i]), kMostOfSign - before, negative ? 128 : 127});
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
  return static_cast<int>(
      std::clamp<int64_t>(count * kMostOfSign * 3 / 4 / heaviest, 1, kSumLengths[0]));
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
  return sums;
}

TermShape PanelSums::GroupAll(int longest, std::vector<Sums>& all) const {
  TermShape shape;
  all.clear();
  for (const std::vector<Term>& terms : terms_) {
    all.push_back(GroupChannel(terms, longest));
    for (const Sum& sum : all.back()) ++shape.counts[SlotOf(sum.count)];
  }
  return shape;
}

TermShape PanelSums::Group() {
  int longest = UsualLength();
  TermShape best = GroupAll(longest, sums_);
  std::vector<Sums> shorter;
  while (longest > 1) {
    const TermShape shape = GroupAll(longest - 1, shorter);
    if (shape.cost() >= best.cost()) break;
    --longest;
    best = shape;
    std::swap(sums_, shorter);
  }
  return best;
}

void PanelSums::Write(int32_t* weights, uint8_t* steps, uint8_t* channels) const {
  for (int slot = 0; slot < static_cast<int>(std::size(kSumLengths)); ++slot) {
    for (size_t n = 0; n < sums_.size(); ++n) {
      for (const Sum& sum : sums_[n]) {
        if (SlotOf(sum.count) != slot) continue;
        *channels++ = static_cast<uint8_t>(n);
        for (int t = 0; t < kSumLengths[slot]; ++t) {
          // What a sum lacks is filled with weights of 0.
          *weights++ = t < sum.count ? sum.terms[t]->weights : 0;
          *steps++ = t < sum.count ? sum.terms[t]->step : uint8_t{0};
        }
      }
    }
  }
}

}  // namespace fettle::kernels
