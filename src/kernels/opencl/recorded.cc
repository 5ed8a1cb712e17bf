#include "kernels/opencl/recorded.h"

namespace fettle::kernels {

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
      const std::span<const Location> places =
          operand.kind == RecordedLaunch::Operand::kInput    ? args.inputs
          : operand.kind == RecordedLaunch::Operand::kOutput ? args.outputs
          : operand.kind == RecordedLaunch::Operand::kPacked
              ? args.packed
              : std::span<const Location>(&args.workspace, 1);
      list.Tensor(places[operand.index], operand.unit_bytes);
    }
    expression.AppendArgs(args, own_packs.size(), list);
    RETURN_IF_ERROR(OpenClStreamOf(args).Launch(*launch.kernel_, launch.sizes_, list.args()));
  }
  return OkStatus();
}

}  // namespace fettle::kernels
