// The operator table: one line per family. A family is a folder src/ops/<family>/ whose op.cc
// defines the function named here.
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace fettle::ops {

// keep-sorted start
std::span<const OpDesc> AttentionOps();
std::span<const OpDesc> ConcatOps();
std::span<const OpDesc> ControlOps();
std::span<const OpDesc> ConvOps();
std::span<const OpDesc> ConvTransposeOps();
std::span<const OpDesc> DetectionOps();
std::span<const OpDesc> ElementwiseOps();
std::span<const OpDesc> GatherOps();
std::span<const OpDesc> GenerateOps();
std::span<const OpDesc> LossOps();
std::span<const OpDesc> MatMulOps();
std::span<const OpDesc> NormOps();
std::span<const OpDesc> PadOps();
std::span<const OpDesc> PoolOps();
std::span<const OpDesc> QuantiseOps();
std::span<const OpDesc> RecurrentOps();
std::span<const OpDesc> ReduceOps();
std::span<const OpDesc> ReshapeOps();
std::span<const OpDesc> ResizeOps();
std::span<const OpDesc> SelectOps();
std::span<const OpDesc> ShuffleOps();
std::span<const OpDesc> SignalOps();
std::span<const OpDesc> SliceOps();
std::span<const OpDesc> SoftmaxOps();
std::span<const OpDesc> StateOps();
std::span<const OpDesc> TransposeOps();
// keep-sorted end

namespace {

std::vector<const OpDesc*> Collect() {
  const std::span<const OpDesc> families[] = {
      // clang-format off
      // keep-sorted start
      AttentionOps(),
      ConcatOps(),
      ControlOps(),
      ConvOps(),
      ConvTransposeOps(),
      DetectionOps(),
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
  std::vector<const OpDesc*> all;
  for (std::span<const OpDesc> family : families) {
    for (const OpDesc& op : family) all.push_back(&op);
  }
  return all;
}

}  // namespace

std::span<const OpDesc* const> AllOps() {
  static const std::vector<const OpDesc*> all = Collect();
  return all;
}

const OpDesc* Find(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDesc*> index = [] {
    std::unordered_map<std::string_view, const OpDesc*> map;
    for (const OpDesc* op : AllOps()) map.emplace(op->name, op);
    return map;
  }();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace fettle::ops
