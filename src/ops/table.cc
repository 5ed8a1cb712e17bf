// The operator table: one line per family. A family is a folder src/ops/<family>/ whose op.cc
// defines the function named here.
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace fettle::ops {

// keep-sorted start
std::span<const Operator> AttentionOps();
std::span<const Operator> BinaryOps();
std::span<const Operator> ConcatOps();
std::span<const Operator> ControlOps();
std::span<const Operator> ConvOps();
std::span<const Operator> ConvTransposeOps();
std::span<const Operator> DetectionOps();
std::span<const Operator> DistanceOps();
std::span<const Operator> ElementwiseOps();
std::span<const Operator> GatherOps();
std::span<const Operator> GenerateOps();
std::span<const Operator> LossOps();
std::span<const Operator> MatMulOps();
std::span<const Operator> NormOps();
std::span<const Operator> PadOps();
std::span<const Operator> PoolOps();
std::span<const Operator> QuantiseOps();
std::span<const Operator> RecurrentOps();
std::span<const Operator> ReduceOps();
std::span<const Operator> ReshapeOps();
std::span<const Operator> ResizeOps();
std::span<const Operator> SelectOps();
std::span<const Operator> ShuffleOps();
std::span<const Operator> SignalOps();
std::span<const Operator> SliceOps();
std::span<const Operator> SoftmaxOps();
std::span<const Operator> StateOps();
std::span<const Operator> TransposeOps();
// keep-sorted end

namespace {

std::vector<const Operator*> Collect() {
  const std::span<const Operator> families[] = {
      // clang-format off
      // keep-sorted start
      AttentionOps(),
      BinaryOps(),
      ConcatOps(),
      ControlOps(),
      ConvOps(),
      ConvTransposeOps(),
      DetectionOps(),
      DistanceOps(),
      ElementwiseOps(),
      GatherOps(),
      GenerateOps(),
      LossOps(),
      MatMulOps(),
      NormOps(),
      PadOps(),
      PoolOps(),
      QuantiseOps(),
      RecurrentOps(),
      ReduceOps(),
      ReshapeOps(),
      ResizeOps(),
      SelectOps(),
      ShuffleOps(),
      SignalOps(),
      SliceOps(),
      SoftmaxOps(),
      StateOps(),
      TransposeOps(),
      // keep-sorted end
      // clang-format on
  };
  std::vector<const Operator*> all;
  for (std::span<const Operator> family : families) {
    for (const Operator& op : family) all.push_back(&op);
  }
  return all;
}

}  // namespace

std::span<const Operator* const> AllOps() {
  static const std::vector<const Operator*> all = Collect();
  return all;
}

const Operator* Find(std::string_view name) {
  static const std::unordered_map<std::string_view, const Operator*> index = [] {
    std::unordered_map<std::string_view, const Operator*> map;
    for (const Operator* op : AllOps()) map.emplace(op->name, op);
    return map;
  }();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

const Operator& Get(std::string_view name) {
  const Operator* op = Find(name);
  FETTLE_CHECK(op != nullptr, fmt::format("unknown operator '{}'", name).c_str());
  return *op;
}

Result<ir::Graph> Parse(std::string_view text, ir::NoiseHints* hints) {
  return ir::Parse(
      text, [](std::string_view name) -> const ir::OpDesc* { return Find(name); }, hints);
}

}  // namespace fettle::ops
