#include "importers/gguf/recurrent_parts.h"

#include <cmath>

#include "base/memory_budget.h"

namespace fettle::gguf {

Result<ir::ValueId> RecurrentParts::Recurred(int64_t layer, const std::string& at, ir::ValueId x) {
  switch (d_.forms[layer].recurrence) {
    case Recurrence::kShortConv: return ShortConv(layer, at, x);
    case Recurrence::kScan: return Scan(layer, at, x);
    case Recurrence::kHeadScan: return HeadScan(layer, at, x);
    case Recurrence::kDelta: return Delta(layer, at, x);
    case Recurrence::kNone: break;
  }
  return x;
}

ir::ValueId RecurrentParts::PastState(int64_t layer, size_t which) {
  const KeptState state = d_.StatesOf(layer)[which];
  return Input(fmt::format("past_{}.{}", state.name, layer), DType::kF32,
               state.OfCaches(form_.caches));
}

void RecurrentParts::KeepState(int64_t layer, size_t which, ir::ValueId present) {
  ir::Value& value = graph_.value(present);
  value.name = fmt::format("present_{}.{}", d_.StatesOf(layer)[which].name, layer);
  value.dtype = DType::kF32;
  graph_.outputs.push_back(present);
}

Result<ir::ValueId> RecurrentParts::Convolved(int64_t layer, const std::string& name, ir::ValueId x,
                                              int64_t channels, bool silu) {
  ASSIGN_OR_RETURN(const TensorInfo* taps, Need(name + ".weight", d_.recurrent.taps, channels));
  const ir::ValueId weights = graph_.AddConstant(taps->name, ReadFloats(*taps, file_, true));
  std::vector<ir::ValueId> inputs = {x, weights, PastState(layer, 0), steps_};
  if (file_->FindTensor(name + ".bias") != nullptr) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), Flat(name + ".bias", channels));
  }
  const std::vector<ir::ValueId> y =
      EmitMany("SlotConv", std::move(inputs), {{"silu", int64_t{silu}}}, 2);
  KeepState(layer, 0, y[1]);
  return y[0];
}

ir::ValueId RecurrentParts::Scanned(int64_t layer, std::vector<ir::ValueId> inputs,
                                    ir::Attributes how) {
  inputs.insert(inputs.begin() + 3, {PastState(layer, 1), steps_});
  const std::vector<ir::ValueId> y = EmitMany("SlotScan", std::move(inputs), std::move(how), 2);
  KeepState(layer, 1, y[1]);
  return y[0];
}

Result<ir::ValueId> RecurrentParts::Flat(const std::string& name, int64_t size) {
  const TensorInfo* tensor = file_->FindTensor(name);
  if (tensor == nullptr) return InvalidModel("tensor '{}' is missing", name);
  if (tensor->rows != size || tensor->columns != 1)  // or as one row
    RETURN_IF_ERROR(Need(name, size, 1).status());
  return graph_.AddConstant(name, ReadFloats(*tensor, file_, false).Reshaped(Shape{size}));
}

Result<ir::ValueId> RecurrentParts::RowNorm(const std::string& name, ir::ValueId x, int64_t size) {
  if (file_->FindTensor(name + ".weight") != nullptr) return Norm(name, x, size);
  return d_.recurrent.norms ? PlainNorm(x, size) : x;
}

Result<ir::ValueId> RecurrentParts::Skipped(const std::string& name, ir::ValueId x, ir::ValueId v,
                                            int64_t count) {
  ASSIGN_OR_RETURN(ir::ValueId skip, Flat(name, count));
  const int64_t columns = d_.recurrent.inner / count;
  if (columns > 1) {  // folded once
    skip = Emit("Reshape", {skip, Ints(name + ".column", {count, 1})});
    skip = Emit("Expand", {skip, Ints(name + ".columns", {count, columns})});
    skip = Emit("Reshape", {skip, Ints(name + ".row", {count * columns})});
  }
  return Emit("Add", {x, Emit("Mul", {v, skip})});
}

Result<ir::ValueId> RecurrentParts::GatedNorm(const std::string& name, ir::ValueId y,
                                              ir::ValueId z) {
  const Recurrent& r = d_.recurrent;
  y = Emit("Mul", {y, Emit("Swish", {z})});
  const TensorInfo* scale = file_->FindTensor(name + ".weight");
  if (scale == nullptr) return y;
  const int64_t columns = r.inner / r.key_heads;
  RETURN_IF_ERROR(Need(name + ".weight", columns, r.key_heads).status());
  if (r.key_heads == 1) return Norm(name, y, columns);
  y = PlainNorm(Shaped(y, {0, 0, r.key_heads, columns}), columns);
  y = Emit("Mul", {y, graph_.AddConstant(scale->name, ReadFloats(*scale, file_, false))});
  return Emit("Reshape", {y, packed_shape_});
}

Result<ir::ValueId> RecurrentParts::ShortConv(int64_t layer, const std::string& at, ir::ValueId x) {
  const int64_t width = d_.width;
  ASSIGN_OR_RETURN(const ir::ValueId all, Product(at + "shortconv.in_proj", x, width, 3 * width));
  const std::vector<ir::ValueId> gates = Parts(all, {width, width, width});
  ASSIGN_OR_RETURN(
      const ir::ValueId rows,
      Convolved(layer, at + "shortconv.conv", Emit("Mul", {gates[0], gates[2]}), width, false));
  return Product(at + "shortconv.out_proj", Emit("Mul", {gates[1], rows}), width, width);
}

Result<ir::ValueId> RecurrentParts::Scan(int64_t layer, const std::string& at, ir::ValueId x) {
  const Recurrent& r = d_.recurrent;
  ASSIGN_OR_RETURN(const ir::ValueId both, Product(at + "ssm_in", x, d_.width, 2 * r.inner));
  const std::vector<ir::ValueId> halves = Parts(both, r.inner, r.inner);
  ASSIGN_OR_RETURN(x, Convolved(layer, at + "ssm_conv1d", halves[0], r.inner, true));
  ASSIGN_OR_RETURN(const ir::ValueId made, Product(at + "ssm_x", x, r.inner, r.rank + 2 * r.size));
  const std::vector<ir::ValueId> parts = Parts(made, {r.rank, r.size, r.size});
  ASSIGN_OR_RETURN(ir::ValueId time, RowNorm(at + "ssm_dt_norm", parts[0], r.rank));
  ASSIGN_OR_RETURN(const ir::ValueId keys, RowNorm(at + "ssm_b_norm", parts[1], r.size));
  ASSIGN_OR_RETURN(const ir::ValueId queries, RowNorm(at + "ssm_c_norm", parts[2], r.size));
  ASSIGN_OR_RETURN(time, Product(at + "ssm_dt", time, r.rank, r.inner));
  time = Emit("Softplus", {time});
  ASSIGN_OR_RETURN(const TensorInfo* rates, Need(at + "ssm_a", r.size, r.inner));
  const ir::ValueId decays = graph_.AddConstant(rates->name, ReadFloats(*rates, file_, true));
  const ir::ValueId seen =
      Scanned(layer, {queries, keys, Emit("Mul", {x, time}), time, ir::kAbsent, decays});
  ASSIGN_OR_RETURN(ir::ValueId y, Skipped(at + "ssm_d", seen, x, r.inner));
  y = Emit("Mul", {y, Emit("Swish", {halves[1]})});
  return Product(at + "ssm_out", y, r.inner, d_.width);
}

Result<ir::ValueId> RecurrentParts::HeadScan(int64_t layer, const std::string& at, ir::ValueId x) {
  const Recurrent& r = d_.recurrent;
  const int64_t keys = r.key_heads * r.size, channels = r.channels(Recurrence::kHeadScan);
  ASSIGN_OR_RETURN(const ir::ValueId all,
                   Product(at + "ssm_in", x, d_.width, r.inner + channels + r.heads));
  const std::vector<ir::ValueId> parts = Parts(all, {r.inner, channels, r.heads});
  ASSIGN_OR_RETURN(const ir::ValueId rows,
                   Convolved(layer, at + "ssm_conv1d", parts[1], channels, true));
  const std::vector<ir::ValueId> of_row = Parts(rows, {r.inner, keys, keys});
  ASSIGN_OR_RETURN(const ir::ValueId bias, Flat(at + "ssm_dt.bias", r.heads));
  ASSIGN_OR_RETURN(const ir::ValueId rates, Flat(at + "ssm_a", r.heads));
  const ir::ValueId time = Emit("Softplus", {Emit("Add", {parts[2], bias})});
  const ir::ValueId values = Emit("Mul", {Shaped(of_row[0], {0, 0, r.heads, r.value_size()}),
                                          Shaped(time, {0, 0, r.heads, 1})});
  const ir::ValueId seen = Scanned(
      layer,
      {of_row[2], of_row[1], Emit("Reshape", {values, packed_shape_}), Emit("Mul", {time, rates})});
  ASSIGN_OR_RETURN(ir::ValueId y, Skipped(at + "ssm_d", seen, of_row[0], r.heads));
  ASSIGN_OR_RETURN(y, GatedNorm(at + "ssm_norm", y, parts[0]));
  return Product(at + "ssm_out", y, r.inner, d_.width);
}

Result<RecurrentParts::DeltaGates> RecurrentParts::ReadDeltaGates(const std::string& at,
                                                                  ir::ValueId x) {
  const Recurrent& r = d_.recurrent;
  DeltaGates gates;
  ir::ValueId decay = 0;
  if (file_->FindTensor(at + "ssm_ba.weight") != nullptr) {  // both, one key head after the other
    ASSIGN_OR_RETURN(const ir::ValueId both, Product(at + "ssm_ba", x, d_.width, 2 * r.heads));
    const int64_t shares = r.heads / r.key_heads;
    const std::vector<ir::ValueId> halves =
        Parts(Shaped(both, {0, 0, r.key_heads, 2 * shares}), shares, shares);
    gates.beta = Emit("Reshape", {halves[0], packed_shape_});
    decay = Emit("Reshape", {halves[1], packed_shape_});
  } else {
    ASSIGN_OR_RETURN(gates.beta, Product(at + "ssm_beta", x, d_.width, r.heads));
    ASSIGN_OR_RETURN(decay, Product(at + "ssm_alpha", x, d_.width, r.heads));
  }
  gates.beta = Emit("Sigmoid", {gates.beta});
  ASSIGN_OR_RETURN(const ir::ValueId bias, Flat(at + "ssm_dt.bias", r.heads));
  ASSIGN_OR_RETURN(const ir::ValueId rates, Flat(at + "ssm_a", r.heads));
  gates.decay = Emit("Mul", {Emit("Softplus", {Emit("Add", {decay, bias})}), rates});
  return gates;
}

ir::ValueId RecurrentParts::UnitHeads(ir::ValueId x) {
  const MemoryScope scope(MemoryBudget::Unbounded());
  const Recurrent& r = d_.recurrent;
  constexpr double kEpsilon = 1e-6;  // beside the sum of squares
  const auto size = static_cast<double>(r.size);
  const std::vector<float> scale(r.size, static_cast<float>(1 / std::sqrt(size)));
  const ir::ValueId scales =
      graph_.AddConstant(fmt::format("unit.{}", graph_.nodes().size()),
                         Constant::FromTensor(*Tensor::FromVector(Shape{r.size}, scale)));
  x = Emit("RMSNormalization", {Shaped(x, {0, 0, r.key_heads, r.size}), scales},
           {{"axis", int64_t{-1}}, {"epsilon", kEpsilon / size}});
  return Emit("Reshape", {x, packed_shape_});
}

Result<ir::ValueId> RecurrentParts::Delta(int64_t layer, const std::string& at, ir::ValueId x) {
  const Recurrent& r = d_.recurrent;
  const int64_t keys = r.key_heads * r.size, channels = r.channels(Recurrence::kDelta);
  ASSIGN_OR_RETURN(const ir::ValueId made, Product(at + "attn_qkv", x, d_.width, channels));
  ASSIGN_OR_RETURN(const ir::ValueId z, Product(at + "attn_gate", x, d_.width, r.inner));
  ASSIGN_OR_RETURN(const DeltaGates gates, ReadDeltaGates(at, x));
  ASSIGN_OR_RETURN(const ir::ValueId rows,
                   Convolved(layer, at + "ssm_conv1d", made, channels, true));
  const std::vector<ir::ValueId> parts = Parts(rows, {keys, keys, r.inner});
  ir::ValueId y =
      Scanned(layer, {UnitHeads(parts[0]), UnitHeads(parts[1]), parts[2], gates.decay, gates.beta},
              {{"scale", 1 / std::sqrt(static_cast<double>(r.size))},
               {"strided", int64_t{d_.strided_keys}}});
  ASSIGN_OR_RETURN(
      y, Norm(at + "ssm_norm", Shaped(y, {0, 0, r.heads, r.value_size()}), r.value_size()));
  y = Emit("Mul", {Emit("Reshape", {y, packed_shape_}), Emit("Swish", {z})});
  return Product(at + "ssm_out", y, r.inner, d_.width);
}

}  // namespace fettle::gguf
