#include "kernels/opencl/recorded.h"

#include <algorithm>

#include "kernels/opencl/states.h"
#include "tensor/reorder.h"

namespace fettle::kernels {

Location RecordedLaunch::Find(const Operand& operand, const LaunchArgs& args) {
  switch (operand.kind) {
    case Operand::kInput: return args.inputs[operand.index];
    case Operand::kOutput: return args.outputs[operand.index];
    case Operand::kPacked: return args.packed[operand.index];
    case Operand::kWorkspace: break;
  }
  Location place = args.workspace;
  place.offset += static_cast<int64_t>(operand.index);
  return place;
}

void RecordedKernel::AddRows(const ir::Graph& group, ir::ValueId id, DType storage,
                             RecordedLaunch& launch) {
  const ir::Value& value = group.value(id);
  if (!value.is_constant()) {
    launch.Input(InputIndex(group, id), StorageBytes(storage, 1));
    return;
  }
  const auto known = std::find_if(own_packs.begin(), own_packs.end(), [&](const PackRequest& pack) {
    return pack.constants == std::vector{id};
  });
  launch.Packed(static_cast<size_t>(known - own_packs.begin()), StorageBytes(storage, 1));
  if (known != own_packs.end()) return;
  const State packed{.storage = storage};
  own_packs.push_back(
      {.constants = {id},
       .recipe = fmt::format("row.{}", DTypeName(storage)),
       .bytes = StateBytes(*value.shape, packed),
       .pack = [packed](std::span<const Constant* const> constants, std::byte* out) {
         ASSIGN_OR_RETURN(const Tensor tensor, constants[0]->ToTensor());
         Reorder(tensor.shape(), {.storage = tensor.dtype()}, tensor.data(), packed, out);
         return OkStatus();
       }});
}

std::vector<PackRequest> RecordedKernel::packs() const {
  std::vector<PackRequest> all = own_packs;
  all.insert(all.end(), expression.packs().begin(), expression.packs().end());
  return all;
}

Status RecordedKernel::Launch(const LaunchArgs& args) const {
  for (const RecordedLaunch& launch : recorded) {
    ArgList list;
    for (const auto& arg : launch.args_) {
      if (const auto* value = std::get_if<KernelArg>(&arg)) {
        list.Value(*value);
        continue;
      }
      const auto& operand = std::get<RecordedLaunch::Operand>(arg);
      const Location place = RecordedLaunch::Find(operand, args);
      operand.unit_bytes == 0 ? list.Memory(place) : list.Tensor(place, operand.unit_bytes);
    }
    if (&launch == &recorded.back()) expression.AppendArgs(args, own_packs.size(), list);
    RETURN_IF_ERROR(OpenClStreamOf(args).Launch(*launch.kernel_, launch.sizes_, list.args()));
  }
  return OkStatus();
}

}  // namespace fettle::kernels
