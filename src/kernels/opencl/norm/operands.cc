#include "kernels/opencl/norm/operands.h"

#include <algorithm>

#include "kernels/match/extents.h"
#include "ops/norm/op.h"
#include "ops/op.h"

namespace fettle::kernels {

Result<PackRequest> VectorPack(const ir::Graph& group, ir::ValueId id, int64_t elements,
                               int64_t padded) {
  const auto& constant = group.value(id).constant;
  if (constant == nullptr) return Unsupported("a scale or bias that is not constant");
  if (constant->elements() != elements && constant->elements() != 1)
    return Unsupported("a scale or bias of {} elements: expected {}", constant->elements(),
                       elements);
  return PackRequest{
      .constants = {id},
      .recipe = fmt::format("opencl.vector.{}.{}", elements, padded),
      .bytes = padded * 4,
      .pack = [elements, padded](std::span<const Constant* const> constants, std::byte* out) {
        auto* to = reinterpret_cast<float*>(out);
        const int64_t own = constants[0]->elements();
        std::fill_n(to, padded, 0.0f);
        for (int64_t i = 0; i < elements; ++i)
          to[i] = static_cast<float>(constants[0]->GetDouble(own == 1 ? 0 : i));
        return OkStatus();
      }};
}

Status CheckNormalisation(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                  [](ir::ValueId id) { return id != ir::kAbsent; }))
    return Unsupported("statistics as outputs are left to the reference");
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || x.is_constant()) return Unsupported("expected a float tensor");
  if (node.input(1) == ir::kAbsent) return Unsupported("no scale");
  return OkStatus();
}

bool IsRowNormalisation(const ir::Node& node) {
  return node.op == "LayerNormalization"_op || node.op == "RMSNormalization"_op;
}

Result<int64_t> LengthOfRows(const ir::Graph& group, const ir::Node& node) {
  if (!IsRowNormalisation(node))
    return Unsupported("computes groups that end in a normalisation of rows only");
  if (std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                  [](ir::ValueId id) { return id != ir::kAbsent; }))
    return Unsupported("statistics as outputs");
  const Shape& x = *group.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const ops::NormGroups groups, ops::ReadNormGroups(node, x));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(x, Layout::RowMajor(), groups.mask));
  if (extents.inner != 1) return Unsupported("the normalised axes are not the innermost ones");
  return extents.row;
}

Status CheckRowNorm(const ir::Graph& group) {
  const ir::Node& norm = group.nodes()[0];
  if (norm.op != "RMSNormalization"_op || norm.inputs.size() != 2)
    return Unsupported("no RMSNormalization in front");
  const ir::Value& x = group.value(norm.inputs[0]);
  if (x.is_constant() || !IsFloatValue(x.dtype)) return Unsupported("rows that are not floats");
  ASSIGN_OR_RETURN(const ops::NormGroups groups, ops::ReadNormGroups(norm, *x.shape));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), groups.mask));
  if (extents.outer != 1 || extents.inner != 1) return Unsupported("several rows");
  return VectorPack(group, norm.inputs[1], extents.row, extents.row).status();
}

}  // namespace fettle::kernels
