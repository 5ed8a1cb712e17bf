// Weights and results of a product of bits, as its kernel reads them.
#pragma once

#include "base/status.h"
#include "kernels/cpu/binary/geometry.h"
#include "kernels/cpu/binary/results.h"
#include "ops/binary/op.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// One blob: [panel][tap][word][kBitOutputs] words; [panel][kBitOutputs] ones of the weights;
/// [panel] FloatPanel or LimitPanel; [panel][kBitOutputs] scales, where results are floats. A
/// group begins a panel.
struct BitBlob {
  explicit BitBlob(const ops::BinaryProduct& product, bool to_bits);

  int64_t panels = 0;  // of a group
  int64_t all_panels = 0, taps = 0, words = 0, panel_bytes = 0;
  int64_t panel_words() const { return taps * words * kBitOutputs; }
  int64_t ones_offset() const { return all_panels * panel_words() * 8; }
  int64_t results_offset() const { return ones_offset() + all_panels * kBitOutputs * 4; }
  int64_t scales_offset() const { return results_offset() + all_panels * panel_bytes; }
  int64_t bytes() const { return scales_offset() + all_panels * kBitOutputs * 4; }
};

/// Writes the blob; bits of weights behind the last channel are taken for zero.
Status PackBitWeights(const ops::BinaryProduct& product, const Constant& w, const Constant& results,
                      std::byte* out);

/// What the results of all outputs are made of, where they are floats.
FloatForm FormOf(const ops::BinaryProduct& product, const Constant& results);

/// Ones of the weights of taps outside of the image, [class][panel][kBitOutputs] of int32 for the
/// classes of `geometry`: what `differ` has too much there, `in_spans` or over all taps.
int64_t BorderBytes(const BitBlob& blob, const BitGeometry& geometry);
Status PackBorder(const ops::BinaryProduct& product, const BitGeometry& geometry, const Constant& w,
                  bool in_spans, std::byte* out);

/// What the sums of all outputs begin with, of the form kScaled or kOnes, in the place of a border:
/// BitStarts.
Status PackStarts(const ops::BinaryProduct& product, const BitGeometry& geometry, const Constant& w,
                  FloatForm form, bool in_spans, std::byte* out);
/// Whether results of the form kScaled or kOnes are their sums.
bool HasUnitScales(const ops::BinaryProduct& product, const Constant& results);

/// What decides bits of the sums of `product`.
LimitFactors FactorsOf(const ops::BinaryProduct& product);

}  // namespace fettle::kernels
