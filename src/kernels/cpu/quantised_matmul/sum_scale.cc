// compiled: small
#include "kernels/cpu/quantised_matmul/sum_scale.h"

namespace fettle::kernels {

Result<SumScale> SumScale::Read(const ir::Graph& group, const StateAssignment& states) {
  const ir::ValueId product = group.nodes()[0].output(0);
  if (group.outputs.size() != 1) return Unsupported("several outputs");
  const ir::Value& out = group.value(group.outputs[0]);
  if (out.dtype != DType::kF32 || out.shape != group.value(product).shape)
    return Unsupported("results that are not floats of the product's shape");
  ASSIGN_OR_RETURN(
      elementwise::Program program,
      elementwise::Program::Compile(group, states, elementwise::Geometry::kRows, product));
  const std::optional<elementwise::ScaledValue> scaled = program.Scaled();
  if (!scaled || scaled->IsClamped())
    return Unsupported("more than a factor and an addend for each column");
  return SumScale(std::move(program), *scaled);
}

void SumScale::Fill(const CpuLaunch& args, int64_t columns, float* factors, float* addends) const {
  const elementwise::Binding binding =
      program_.Bind(args.inputs, args.packed.last(packs().size()), args.outputs);
  const elementwise::ColumnValues factor = program_.Columns(binding, scaled_.factor, 0);
  const elementwise::ColumnValues addend = program_.Columns(binding, scaled_.addend, 0);
  for (int64_t c = 0; c < columns; ++c) {
    factors[c] = factor.first[c * factor.step];
    addends[c] = addend.first[c * addend.step];
  }
}

}  // namespace fettle::kernels
