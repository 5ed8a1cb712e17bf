// Layers that keep a state of all tokens so far in the place of keys and values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "importers/gguf/attention_parts.h"

namespace fettle::gguf {

class RecurrentParts : protected AttentionParts {
 protected:
  using AttentionParts::AttentionParts;

  /// The output of layer `layer` for x and its states (LayerForm::recurrence); its tensors begin
  /// with `at`.
  Result<ir::ValueId> Recurred(int64_t layer, const std::string& at, ir::ValueId x);

 private:
  /// "LFM2" (Liquid AI, 2025): a gated convolution over a few rows.
  Result<ir::ValueId> ShortConv(int64_t layer, const std::string& at, ir::ValueId x);
  /// "Mamba" (Gu and Dao, 2023, arXiv 2312.00752).
  Result<ir::ValueId> Scan(int64_t layer, const std::string& at, ir::ValueId x);
  /// "Transformers are SSMs" (Dao and Gu, 2024, arXiv 2405.21060): Mamba 2.
  Result<ir::ValueId> HeadScan(int64_t layer, const std::string& at, ir::ValueId x);
  /// "Gated Delta Networks" (Yang et al., 2024, arXiv 2412.06464).
  Result<ir::ValueId> Delta(int64_t layer, const std::string& at, ir::ValueId x);

  /// How much each head of the delta rule forgets and learns.
  struct DeltaGates {
    ir::ValueId decay = 0, beta = 0;
  };
  Result<DeltaGates> ReadDeltaGates(const std::string& at, ir::ValueId x);
  /// x [.., heads, size], each head divided by its length.
  ir::ValueId UnitHeads(ir::ValueId x);

  /// The convolution `name` over columns of x, followed by Swish where `silu`.
  Result<ir::ValueId> Convolved(int64_t layer, const std::string& name, ir::ValueId x,
                                int64_t channels, bool silu);
  /// SlotScan of queries, keys, values, decay, beta and rates.
  ir::ValueId Scanned(int64_t layer, std::vector<ir::ValueId> inputs, ir::Attributes how = {});
  /// Adds the past of a state, and names its present, the second of `made`, an output.
  ir::ValueId PastState(int64_t layer, size_t which);
  void KeepState(int64_t layer, size_t which, ir::ValueId present);

  /// A tensor of the name itself, whatever its axes are.
  Result<ir::ValueId> Flat(const std::string& name, int64_t size);
  /// x plus v times one of the `count` numbers of the tensor `name`, which runs of columns share.
  Result<ir::ValueId> Skipped(const std::string& name, ir::ValueId x, ir::ValueId v, int64_t count);
  /// y times Swish(z), normalised in groups where the file has `name`.weight.
  Result<ir::ValueId> GatedNorm(const std::string& name, ir::ValueId y, ir::ValueId z);
  /// Normalised by weights, if the file has any, or without where the metadata say so.
  Result<ir::ValueId> RowNorm(const std::string& name, ir::ValueId x, int64_t size);
};

}  // namespace fettle::gguf
