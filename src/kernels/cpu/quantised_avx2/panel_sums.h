// The lists of terms of a panel: weights to terms, and terms to sums that cannot overflow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/quantised_avx2/terms.h"

namespace fettle::kernels {

/// Of both 16-bit sums the positive and the negative part of the weights, 16 bits each.
using TermLoad = uint64_t;

struct Term {
  TermLoad load = 0;
  int32_t weights = 0;
  uint8_t step = 0;
  uint8_t peak = 0;  // the largest part of the load
};

/// Appends the terms of four weights, of -255 to 255 each, at `step`; none for four zeros.
void AppendTerms(const int16_t* weights, uint8_t step, std::vector<Term>& terms);
/// How many they are.
int64_t CountTerms(const int16_t* weights);

/// The sums of a panel, by their lengths.
struct TermShape {
  int counts[std::size(kSumLengths)] = {};
  int64_t terms() const;
  int64_t sums() const;
  double cost() const { return static_cast<double>(terms()) + static_cast<double>(sums()); }
};

/// The channels of a panel in one block.
class PanelSums {
 public:
  /// Clears it and begins `channels` channels.
  void Begin(int64_t channels) { terms_.assign(channels, {}); }
  std::vector<Term>& terms(int64_t channel) { return terms_[channel]; }
  /// Groups the terms of each channel.
  TermShape Group();
  /// Writes the sums of the last Group, longest first: the weights and the steps of their terms,
  /// and the channel of each sum.
  void Write(int32_t* weights, uint8_t* steps, uint8_t* channels) const;

 private:
  /// Up to as many terms as the longest sum has.
  struct Sum {
    TermLoad load = 0;
    int count = 0;
    const Term* terms[kSumLengths[0]];
  };
  using Sums = std::vector<Sum>;

  int UsualLength() const;
  static Sums GroupChannel(std::span<const Term> terms, int longest);
  /// Groups all channels with sums of up to `longest` terms.
  TermShape GroupAll(int longest, std::vector<Sums>& all) const;

  std::vector<std::vector<Term>> terms_;
  std::vector<Sums> sums_;
};

}  // namespace fettle::kernels
