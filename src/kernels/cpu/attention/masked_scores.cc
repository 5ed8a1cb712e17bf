// compiled: small
#include "kernels/cpu/attention/masked_scores.h"

#include <algorithm>
#include <cmath>

namespace fettle::kernels {

Result<Attention> ReadFloatAttention(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Attention attention, ReadAttention(group));
  const auto is_float = [&](ir::ValueId id) {
    const DType type = group.value(id).dtype;
    return IsFloat(type) && type != DType::kF64;
  };
  for (ir::ValueId id : group.inputs) {
    if (attention.fill && id == attention.fill->operand.value) continue;
    if (!is_float(id)) return Unsupported("operands that are not floats, or f64");
  }
  for (const Attention::Addend& addend : attention.constants) {
    if (!is_float(addend.operand.value))
      return Unsupported("a constant that is not a float, or f64");
  }
  return attention;
}

int64_t FirstOf(const AttentionOperand& operand, int64_t matrix) {
  int64_t at = operand.offset;
  for (size_t i = operand.matrices.size(); i-- > 0;) {
    at += matrix % operand.matrices[i].extent * operand.matrices[i].stride;
    matrix /= operand.matrices[i].extent;
  }
  return at;
}

int InputOf(const ir::Graph& group, ir::ValueId id) {
  const auto at = std::ranges::find(group.inputs, id);
  return at == group.inputs.end() ? -1 : static_cast<int>(at - group.inputs.begin());
}

MaskedScores::MaskedScores(const std::shared_ptr<const ir::Graph>& group,
                           const Attention& attention)
    : fill_(attention.fill), keys_(attention.keys) {
  for (const Attention::Addend& addend : attention.constants) {
    addends_.push_back(
        {addend.operand, addend.scale, {.packed = static_cast<int>(constants_.size())}});
    constants_.push_back(addend.operand.value);
  }
  for (const Attention::Addend& addend : attention.masks)
    addends_.push_back(
        {addend.operand, addend.scale, {.bound = InputOf(*group, addend.operand.value)}});
  if (fill_) {
    fill_place_.bound = InputOf(*group, fill_->operand.value);
    if (fill_place_.bound < 0) fill_place_.packed = static_cast<int>(constants_.size());
  }
  if (!constants_.empty() || fill_place_.packed >= 0) group_ = group;
}

std::vector<PackRequest> MaskedScores::packs() const {
  std::vector<PackRequest> requests;
  for (ir::ValueId id : constants_) {
    requests.push_back({{id},
                        "row.f32",
                        group_->value(id).constant->elements() * 4,
                        [](std::span<const Constant* const> constants, std::byte* out) {
                          auto* to = reinterpret_cast<float*>(out);
                          for (int64_t i = 0; i < constants[0]->elements(); ++i)
                            to[i] = static_cast<float>(constants[0]->GetDouble(i));
                          return OkStatus();
                        }});
  }
  if (fill_place_.packed >= 0) requests.push_back(PackCondition());
  return requests;
}

PackRequest MaskedScores::PackCondition() const {
  const ir::ValueId id = fill_->operand.value;
  return {{id},
          "row.bool",
          group_->value(id).constant->elements(),
          [](std::span<const Constant* const> constants, std::byte* out) {
            for (int64_t i = 0; i < constants[0]->elements(); ++i)
              out[i] = std::byte(constants[0]->GetDouble(i) != 0);
            return OkStatus();
          }};
}

/// A fill overrides what is added; what is added to a mask might outweigh it.
KeyRange MaskedScores::SeenBy(const LaunchArgs& args, int64_t matrix, int64_t query,
                              int64_t rows) const {
  MaskRows masks[2];
  size_t count = 0;
  if (addends_.size() > 1 || (fill_ && !(fill_->value <= kHiddenScore))) return {0, keys_};
  for (const Addend& addend : addends_) {
    if (!(addend.scale > 0)) return {0, keys_};
    const AttentionOperand& of = addend.operand;
    masks[count++] = {.added = LocationOf(args, addend.place).host<float>() + FirstOf(of, matrix) +
                               query * of.row_stride,
                      .limit = kHiddenScore / addend.scale,
                      .row_stride = of.row_stride,
                      .column_stride = of.column_stride};
  }
  if (fill_) {
    const AttentionOperand& of = fill_->operand;
    masks[count++] = {.condition = LocationOf(args, fill_place_).host<uint8_t>() +
                                   FirstOf(of, matrix) + query * of.row_stride,
                      .where = fill_->where,
                      .row_stride = of.row_stride,
                      .column_stride = of.column_stride};
  }
  return SeenKeys({masks, count}, rows, keys_);
}

void MaskedScores::Apply(const LaunchArgs& args, const ScoreBlock& block) const {
  for (const Addend& addend : addends_) {
    const AttentionOperand& from = addend.operand;
    const float* first = LocationOf(args, addend.place).host<float>() +
                         FirstOf(from, block.matrix) + block.query * from.row_stride +
                         block.key * from.column_stride;
    for (int64_t r = 0; r < block.rows; ++r)
      AddScores(first + r * from.row_stride, from.column_stride, addend.scale, block.keys,
                block.scores + r * block.stride);
  }
  if (!fill_) return;
  const AttentionOperand& from = fill_->operand;
  const uint8_t* first = LocationOf(args, fill_place_).host<uint8_t>() +
                         FirstOf(from, block.matrix) + block.query * from.row_stride +
                         block.key * from.column_stride;
  for (int64_t r = 0; r < block.rows; ++r)
    FillScores(first + r * from.row_stride, from.column_stride, fill_->where, fill_->value,
               block.keys, block.scores + r * block.stride);
}

void StoreRows(const LaunchArgs& args, const Attention& attention, int64_t matrix, int64_t query,
               int64_t rows, const TiledRow* known, const float* y) {
  const AttentionOperand& of = attention.y;
  float* to = args.outputs[0].host<float>() + FirstOf(of, matrix) + query * of.row_stride;
  for (int64_t r = 0; r < rows; ++r, y += attention.v_size, to += of.row_stride) {
    const float sum = known[r].sum, factor = 1 / sum;
    const bool is_zero = attention.nan_to_zero && !(sum > 0 && std::isfinite(sum));
    if (of.column_stride == 1 && !is_zero) {
      ScaleRow(y, attention.v_size, factor, to);
      continue;
    }
    for (int64_t d = 0; d < attention.v_size; ++d)
      to[d * of.column_stride] = is_zero ? 0 : y[d] * factor;
  }
}

void ScaleQueries(const LaunchArgs& args, const Attention& attention, int input, int64_t matrix,
                  int64_t query, int64_t rows, float* y) {
  const AttentionOperand& of = attention.q;
  const float* from = RowsOf(args, input, of, matrix, query);
  for (int64_t r = 0; r < rows; ++r, y += attention.qk_size, from += of.row_stride) {
    if (of.column_stride == 1) {
      ScaleRow(from, attention.qk_size, attention.scale, y);
      continue;
    }
    for (int64_t d = 0; d < attention.qk_size; ++d)
      y[d] = attention.scale * from[d * of.column_stride];
  }
}

}  // namespace fettle::kernels
