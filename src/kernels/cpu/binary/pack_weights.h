// Weights and results of a product of bits, as its kernel reads them.
#pragma once

#include "base/status.h"
#include "kernels/cpu/binary/results.h"
#include "ops/binary/op.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// One blob: [panel][tap][word][kBitOutputs] words; [panel][tap + 1][kBitOutputs] ones of each tap,
/// the last entry of all taps; [panel] FloatPanel or LimitPanel; the FloatForm of
/// all panels. A group begins a panel.
struct BitBlob {
  explicit BitBlob(const ops::BinaryProduct& product, bool to_bits);

  int64_t panels = 0;  // of a group
  int64_t all_panels = 0, taps = 0, words = 0, panel_bytes = 0;
  int64_t panel_words() const { return taps * words * kBitOutputs; }
  int64_t ones_offset() const { return all_panels * panel_words() * 8; }
  int64_t results_offset() const {
    return ones_offset() + all_panels * (taps + 1) * kBitOutputs * 4;
  }
  int64_t form_offset() const { return results_offset() + all_panels * panel_bytes; }
  int64_t bytes() const { return form_offset() + 8; }
};

/// Writes the blob; bits of weights behind the last channel are taken for zero.
Status PackBitWeights(const ops::BinaryProduct& product, const Constant& w, const Constant& results,
                      std::byte* out);

/// What decides bits of the sums of `product`.
LimitFactors FactorsOf(const ops::BinaryProduct& product);

}  // namespace fettle::kernels
