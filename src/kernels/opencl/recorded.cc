#include "kernels/opencl/recorded.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/opencl/launch_params.h"
#include "kernels/opencl/states.h"
#include "tensor/reorder.h"

namespace fettle::kernels {

Location RecordedLaunch::Find(const Operand& operand, const LaunchArgs& args) {
  switch (operand.kind) {
    case Operand::kInput: return args.inputs[operand.index];
    case Operand::kOutput: return args.outputs[operand.index];
    case Operand::kPacked: return args.packed[operand.index];
    case Operand::kTickets: return OpenClStreamOf(args).tickets();
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

/// The launches of a recorded kernel that may be varied.
class LaunchParams {
 public:
  static size_t ItemsOf(const WorkShape& lws) { return lws[0] * lws[1] * lws[2]; }

  /// The largest launch that takes any work-group; null: there is none.
  template <typename Kernel>
  static auto* Main(Kernel& kernel) {
    decltype(&kernel.recorded[0]) main = nullptr;
    for (auto& launch : kernel.recorded) {
      if (launch.sizes_.any_group && launch.sizes_.lws[0] > 0 &&
          (main == nullptr || ItemsOf(launch.sizes_.gws) > ItemsOf(main->sizes_.gws)))
        main = &launch;
    }
    return main;
  }
  static const WorkSizes& SizesOf(const RecordedLaunch& launch) { return launch.sizes_; }
  static const OpenClKernel& KernelOf(const RecordedLaunch& launch) { return *launch.kernel_; }

  static int64_t LimitOf(const RecordedLaunch& launch) {
    const auto limit = static_cast<int64_t>(KernelOf(launch).most_items());
    return limit > 0 ? limit : KernelOf(launch).facts().max_work_group_size;
  }
  /// Whether groups of so many items cut the third axis evenly: kernels do not look whether they
  /// are outside along it.
  static bool IsWhole(const RecordedLaunch& launch, size_t items) {
    return launch.sizes_.gws[2] % std::max<size_t>(items, 1) == 0;
  }
  static WorkShape GroupOf(const RecordedLaunch& launch, const Params& params) {
    WorkShape lws = launch.sizes_.lws;
    for (size_t axis = 0; axis < 3; ++axis)
      if (const int64_t items = LaunchValue(params, kGroupAxes[axis]); items > 0)
        lws[axis] = static_cast<size_t>(items);
    return lws;
  }
  /// What the device and the kernel take of it: plans may come from others.
  static void SetGroup(const Params& params, RecordedLaunch& launch) {
    WorkShape lws = GroupOf(launch, params);
    const auto& most = KernelOf(launch).facts().max_work_item_sizes;
    for (size_t axis = 0; axis < 3; ++axis)
      lws[axis] = std::min(lws[axis], static_cast<size_t>(std::max<int64_t>(most[axis], 1)));
    if (!IsWhole(launch, lws[2])) lws[2] = 1;
    launch.sizes_.lws = SmallerGroup(lws, static_cast<size_t>(LimitOf(launch)));
  }
  static Status Rebuild(const Params& params, const OpenClDevice& device, RecordedLaunch& launch) {
    const ProgramSource& source = KernelOf(launch).program().source();
    const ProgramSource variant = VariantOf(source, params);
    if (variant == source) return OkStatus();
    ASSIGN_OR_RETURN(launch.kernel_, device.BuildKernel(variant, KernelOf(launch).function()));
    return OkStatus();
  }
};

std::vector<Tunable> RecordedKernel::launch_tunables() const {
  std::vector<Tunable> tunables;
  if (const RecordedLaunch* main = LaunchParams::Main(*this); main != nullptr) {
    const WorkSizes& sizes = LaunchParams::SizesOf(*main);
    std::array<std::set<int64_t>, 3> values;
    for (const GroupProposal& proposal : ProposeGroups(LaunchParams::KernelOf(*main).facts(),
                                                       sizes.gws, LaunchParams::LimitOf(*main))) {
      for (size_t axis = 0; axis < 3; ++axis)
        values[axis].insert(static_cast<int64_t>(proposal.lws[axis]));
    }
    for (size_t axis = 0; axis < 3; ++axis) {
      if (sizes.gws[axis] == 1 && axis == 2) continue;
      for (int64_t items = 1; items <= (axis == 2 ? 8 : 256); items *= 2) {
        if (items < 2 * static_cast<int64_t>(sizes.gws[axis])) values[axis].insert(items);
      }
      if (axis == 2)
        std::erase_if(values[axis], [&](int64_t items) {
          return !LaunchParams::IsWhole(*main, static_cast<size_t>(items));
        });
      values[axis].insert(0);
      tunables.push_back(
          {std::string(kGroupAxes[axis]), {values[axis].begin(), values[axis].end()}});
    }
  }
  std::map<std::string, Tunable> of_programs;
  for (const RecordedLaunch& launch : recorded) {
    for (Tunable& tunable : ProgramTunables(LaunchParams::KernelOf(launch).program().source()))
      of_programs.emplace(tunable.name, tunable);
  }
  for (auto& [name, tunable] : of_programs) tunables.push_back(std::move(tunable));
  return tunables;
}

Status RecordedKernel::CheckLaunch(const Params& params) const {
  const RecordedLaunch* main = LaunchParams::Main(*this);
  const bool names_group =
      std::any_of(std::begin(kGroupAxes), std::end(kGroupAxes),
                  [&](std::string_view axis) { return LaunchValue(params, axis) > 0; });
  if (main == nullptr || !names_group) return OkStatus();
  const WorkShape lws = LaunchParams::GroupOf(*main, params);
  const int64_t limit = LaunchParams::LimitOf(*main);
  if (!LaunchParams::IsWhole(*main, lws[2]))
    return Unsupported(
        "a work-group of {}x{}x{}: {} items do not cut the third axis, of {}, evenly", lws[0],
        lws[1], lws[2], lws[2], LaunchParams::SizesOf(*main).gws[2]);
  if (Fits(lws, LimitsOf(LaunchParams::KernelOf(*main).facts(), limit))) return OkStatus();
  return Unsupported("a work-group of {}x{}x{}: '{}' takes {} items", lws[0], lws[1], lws[2],
                     LaunchParams::KernelOf(*main).function(), limit);
}

std::vector<RuleParams> RecordedKernel::launch_rules() const {
  const RecordedLaunch* main = LaunchParams::Main(*this);
  std::vector<RuleParams> rules;
  if (main == nullptr) return rules;
  const WorkSizes& sizes = LaunchParams::SizesOf(*main);
  for (const GroupProposal& proposal : ProposeGroups(LaunchParams::KernelOf(*main).facts(),
                                                     sizes.gws, LaunchParams::LimitOf(*main))) {
    if (proposal.lws == sizes.lws) continue;
    RuleParams rule{proposal.rule, {}};
    for (size_t axis = 0; axis < 3; ++axis) {
      if (axis < 2 || sizes.gws[2] > 1)
        rule.params[std::string(kGroupAxes[axis])] = static_cast<int64_t>(proposal.lws[axis]);
    }
    if (CheckLaunch(rule.params).ok()) rules.push_back(std::move(rule));
  }
  return rules;
}

Status RecordedKernel::Adopt(const Params& params, const Device& device) {
  if (RecordedLaunch* main = LaunchParams::Main(*this); main != nullptr)
    LaunchParams::SetGroup(params, *main);
  for (RecordedLaunch& launch : recorded)
    RETURN_IF_ERROR(LaunchParams::Rebuild(params, AsOpenCl(device), launch));
  return OkStatus();
}

}  // namespace fettle::kernels
