#include "kernels/match/spectrum.h"

#include <algorithm>
#include <optional>

#include "ops/op.h"
#include "ops/signal/op.h"

namespace fettle::kernels {
namespace {

/// The scalar operand `i`: absent, or constant.
Result<std::optional<int64_t>> ScalarOf(const ir::Graph& group, size_t i) {
  const ir::ValueId id = group.nodes()[0].input(i);
  if (id == ir::kAbsent) return std::optional<int64_t>();
  if (!group.value(id).is_constant()) return Unsupported("its lengths are not constant");
  return std::optional<int64_t>(group.value(id).constant->GetInt(0));
}

Result<SpectrumFacts> ReadDftFacts(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  const Shape& x = *group.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const std::optional<int64_t> length, ScalarOf(group, 1));
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis, ScalarOf(group, 2));
  ASSIGN_OR_RETURN(const ops::DftAttributes dft, ops::ReadDft(node, x, length, axis));
  const int64_t inner = x.Count(dft.axis + 1, x.rank() - 1), parts = x[x.rank() - 1];
  SpectrumFacts facts;
  facts.length = dft.length;
  facts.bins = dft.bins;
  facts.mirrored = dft.onesided && dft.inverse;
  facts.samples = std::min(facts.mirrored ? dft.length / 2 + 1 : dft.length, x[dft.axis]);
  facts.transforms = x.Count(0, dft.axis) * inner;
  facts.inners = inner;
  facts.complex = parts == 2;
  facts.inverse = dft.inverse;
  const int64_t written = facts.mirrored ? 1 : 2;
  facts.x = {x[dft.axis] * inner * parts, parts, inner * parts};
  facts.y = {dft.bins * inner * written, written, inner * written};
  return facts;
}

Result<SpectrumFacts> ReadStftFacts(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  const Shape& x = *group.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const std::optional<int64_t> step, ScalarOf(group, 1));
  ASSIGN_OR_RETURN(const std::optional<int64_t> length, ScalarOf(group, 3));
  const ir::ValueId window = node.input(2);
  ASSIGN_OR_RETURN(const ops::StftAttributes stft,
                   ops::ReadStft(node, x, step.value_or(0), length,
                                 window == ir::kAbsent ? nullptr : &*group.value(window).shape));
  const int64_t parts = stft.complex ? 2 : 1;
  SpectrumFacts facts;
  facts.length = facts.samples = stft.length;
  facts.bins = stft.bins;
  facts.transforms = x[0] * stft.frames;
  facts.inners = stft.frames;
  facts.complex = stft.complex;
  facts.x = {x[1] * parts, stft.step * parts, parts};
  facts.y = {stft.frames * stft.bins * 2, stft.bins * 2, 2};
  return facts;
}

}  // namespace

Result<SpectrumFacts> ReadSpectrum(const ir::Graph& group) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::OpRef op = group.nodes()[0].op;
  if (op == "STFT"_op) return ReadStftFacts(group);
  if (op == "DFT"_op) return ReadDftFacts(group);
  return Unsupported("computes DFT and STFT only");
}

}  // namespace fettle::kernels
