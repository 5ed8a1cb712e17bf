#include "exec/near_programs.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/subnormals.h"
#include "exec/near_numbers.h"
#include "kernels/backend.h"
#include "kernels/launch_tunables.h"
#include "kernels/wanted_states.h"

namespace fettle::exec {
namespace {

/// How much larger than a quarter of it room may be for little.
constexpr int64_t kLittleRoom = 4096;

}  // namespace

NearPrograms::NearPrograms(std::shared_ptr<const Program> like,
                           const std::vector<ir::ValueId>& values, const NearGraph& graph,
                           int threads)
    : like_(std::move(like)), extents_(graph.extents), threads_(threads) {
  size_t begin = 0;
  for (const ir::Value& value : graph.graph->values()) {
    const int rank = value.shape && !value.is_constant() ? value.shape->rank() : 0;
    places_.push_back({begin, rank});
    begin += static_cast<size_t>(rank);
  }
  const std::vector<PlannedTensor>& tensors = like_->plan().tensors;
  for (size_t t = 0; t < tensors.size(); ++t) {
    tensors_.push_back(values[tensors[t].value]);
    if (tensors[t].same_bytes_as >= 0) same_bytes_.push_back(t);
  }
  for (size_t i = 0; i < like_->plan().steps.size(); ++i) {
    steps_.push_back(StepOf(i, values));
    steps_.back().may_share = MayShare(like_->steps_[i]);
  }
  KeepOutline();
}

void NearPrograms::KeepOutline() {
  std::vector<std::vector<kernels::Alias>> aliases(steps_.size());
  std::vector<int64_t> workspaces(steps_.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const kernels::PreparedKernel* const kernel = like_->steps_[i].kernel.get();
    if (kernel == nullptr) continue;
    aliases[i] = kernel->aliases();
    workspaces[i] = kernel->workspace_bytes();
  }
  const Plan& plan = like_->plan();
  const MemoryNeeds needs{aliases, workspaces, like_->windows_, like_->bytes_};
  outline_.Keep(plan, Sharing(plan, aliases, like_->windows_, like_->bytes_), needs,
                like_->memory_plan());
}

Status NearPrograms::MakeConversion(const PlannedStep& planned, const NearGraph& near,
                                    const Device& cpu, Program::Step& step) const {
  const std::vector<PlannedTensor>& tensors = like_->plan().tensors;
  const int from = planned.inputs[0], to = planned.outputs[0];
  ASSIGN_OR_RETURN(step.kernel,
                   kernels::PrepareAnyConversion(*near.graph->value(tensors_[from]).shape,
                                                 tensors[from].state, tensors[to].state, cpu));
  return OkStatus();
}

bool NearPrograms::TakeKernel(size_t i, bool has_others, const Device& cpu,
                              Program::Step& step) const {
  const Step& known = steps_[i];
  if (known.takes == nullptr) return false;
  const bool takes_others = known.takes->takes_constants() && known.recipes.empty();
  if (has_others && !takes_others) return false;
  const bool has_spare = std::exchange(step.may_move, false) && step.kernel.use_count() == 1 &&
                         step.threads == known.problem.threads;
  if (has_spare) step.may_move = step.takes->MoveTo(known.problem, cpu);
  if (step.may_move) return true;
  step.kernel = known.takes->At(known.problem, cpu);
  if (step.kernel == nullptr || (has_others && !step.kernel->packs().empty())) return false;
  TakeWhatIsShared(i, step);
  step.may_move = true;
  step.takes = dynamic_cast<kernels::TakesExtents*>(step.kernel.get());
  return true;
}

Status NearPrograms::MakeGroup(size_t i, const NearGraph& near, const Device& cpu,
                               Program::Step& step) {
  const Step& known = steps_[i];
  SetGroup(i, near);
  const bool has_others = HasOtherConstant(i, near), has_other_ones = HasOtherOnes(i, near);
  const bool is_other = has_others || has_other_ones;
  if (doublings_ > 0 && !is_other && TakeBetter(i, cpu, step)) return OkStatus();
  const bool takes_ones = known.takes != nullptr && known.takes->takes_ones();
  if ((!has_other_ones || takes_ones) && TakeKernel(i, has_others, cpu, step)) return OkStatus();
  step = {};
  if (has_other_ones && !has_others && TakeOfOnes(i, step)) return OkStatus();
  kernels::Setting setting = known.setting;
  Result<std::shared_ptr<const kernels::Match>> match = MatchAgain(i, is_other, cpu, setting);
  if (!match.ok() && match.status().code() != StatusCode::kUnsupported) return match.status();
  if (match.ok() && known.is_beside() && (*match)->taste() != known.taste)
    return Unsupported("{}: another taste", like_->plan().steps[i].kernel->name);
  if (!match.ok() || (*match)->taste() != known.taste) {
    if (TakeOther(i, match.ok() ? match->get() : nullptr, cpu, step)) return OkStatus();
    RETURN_IF_ERROR(match.status());
  }
  if (known.near != nullptr && !is_other) {
    ASSIGN_OR_RETURN(step.kernel, (*match)->Prepare(setting));
    TakeFrom(i, step.kernel);
    return OkStatus();
  }
  const kernels::WantedStates wanted(known.problem.states);
  ASSIGN_OR_RETURN(step.kernel, kernels::PrepareWithLaunches(**match, setting, cpu));
  step.match = *match;
  if (has_other_ones && !has_others) KeepOnes(i, *match, setting.states);
  return OkStatus();
}

void NearPrograms::TakeWhatIsShared(size_t i, Program::Step& step) const {
  const Program::Step& like = like_->steps_[i];
  step.blobs = like.blobs;
  step.packed = like.packed;
  step.profile = like.profile;
}

Status NearPrograms::MakeStep(size_t i, const NearGraph& near, const Device& cpu,
                              Program& program) {
  const PlannedStep& planned = like_->plan().steps[i];
  const Program::Step& like = like_->steps_[i];
  Program::Step& step = program.steps_[i];
  const bool is_empty = std::ranges::all_of(planned.outputs, [&](int tensor) {
    return near.graph->value(tensors_[tensor]).shape->elements() == 0;
  });
  const bool is_shared = !is_empty && steps_[i].may_share && IsSame(i, near);
  const bool is_there = is_shared && step.is_shared && step.kernel == like.kernel;
  if (is_there) return OkStatus();
  if (!step.may_move || is_empty || is_shared) step = {};
  step.nothing_to_do = is_empty;
  step.is_own = step.writes_window = false;
  if (is_empty) return OkStatus();
  if (is_shared) {
    step.kernel = like.kernel;
    step.match = like.match;
    step.is_shared = true;
    TakeWhatIsShared(i, step);
    return OkStatus();
  }
  if (planned.kernel == nullptr) return MakeConversion(planned, near, cpu, step);
  RETURN_IF_ERROR(MakeGroup(i, near, cpu, step));
  step.threads = steps_[i].problem.threads;
  return OkStatus();
}

Result<std::shared_ptr<const PackedBlob>> NearPrograms::PackFollowing(
    size_t i, const kernels::PackRequest& request) {
  std::vector<Room>& rooms = steps_[i].rooms;
  const auto is_free = [](const Room& room) { return room.data.use_count() == 1; };
  auto room = std::ranges::find_if(rooms, [&](const Room& each) {
    return is_free(each) && each.bytes >= request.bytes &&
           each.bytes / 4 <= request.bytes + kLittleRoom;
  });
  if (room == rooms.end()) {
    std::erase_if(rooms, is_free);
    const int64_t bytes = request.bytes + request.bytes / 4;
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> data, AllocateHost(bytes));
    room = rooms.insert(rooms.end(), {std::move(data), bytes});
  }
  std::vector<const Constant*> constants;
  for (ir::ValueId id : request.constants)
    constants.push_back(steps_[i].group->value(id).constant.get());
  const SubnormalScope scope(Subnormals::kKeep);
  RETURN_IF_ERROR(request.pack(constants, room->data.get()));
  return std::make_shared<const PackedBlob>(PackedBlob{room->data, request.bytes});
}

Status NearPrograms::PackStep(size_t i, const NearGraph& near, PackedStore& packed,
                              Program::Step& step) {
  if (step.kernel == nullptr || step.profile != nullptr || like_->plan().steps[i].kernel == nullptr)
    return OkStatus();
  const std::vector<kernels::PackRequest> requests = step.kernel->packs();
  const auto& planned = like_->steps_[i].blobs;
  const bool is_alike =
      planned.size() == requests.size() &&
      std::ranges::equal(requests, steps_[i].recipes, {}, &kernels::PackRequest::recipe);
  const bool has_others = HasOtherConstant(i, near);
  if (is_alike && !has_others) {
    TakeWhatIsShared(i, step);
    return OkStatus();
  }
  for (size_t k = 0; k < requests.size(); ++k) {
    const bool is_other = has_others && HasOtherConstant(i, requests[k].constants, near);
    std::shared_ptr<const PackedBlob> blob = is_alike && !is_other ? planned[k] : nullptr;
    if (is_other) {
      ASSIGN_OR_RETURN(blob, PackFollowing(i, requests[k]));
    } else if (blob == nullptr) {
      ASSIGN_OR_RETURN(blob, packed.Get(requests[k], *steps_[i].problem.group));
    }
    step.packed.push_back({blob->data.get(), 0});
    step.blobs.push_back(std::move(blob));
  }
  if (step.other != nullptr && !has_others) steps_[i].other_blobs = step.blobs;
  return OkStatus();
}

void NearPrograms::Describe(const NearGraph& near, std::vector<TensorWindow> windows,
                            Program& program) const {
  const auto numbers =
      std::make_shared<NearNumbers>(shared_from_this(), near.extents, std::move(windows));
  program.numbers_ = numbers;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Program::Step& step = program.steps_[i];
    const Program::Step& like = like_->steps_[i];
    if (step.is_shared) continue;
    step.profile = like.profile;
    if (step.nothing_to_do && like.nothing_to_do) continue;
    const bool is_own = step.match != nullptr || step.blobs != like.blobs;
    step.has_later_numbers = !step.nothing_to_do;
    if (is_own && !step.nothing_to_do) numbers->Keep({i, step.other, step.match, step.blobs});
    if (step.other == nullptr && !step.nothing_to_do) continue;
    auto profile = std::make_shared<StepProfile>(*like.profile);
    if (step.other != nullptr) profile->kernel = step.other->name;
    if (step.nothing_to_do) profile->macs = profile->bytes = 0, profile->work = {};
    step.profile = std::move(profile);
  }
}

Result<std::unique_ptr<Program>> NearPrograms::Build(const NearGraph& near,
                                                     const DeviceSet& devices, PackedStore& packed,
                                                     const std::atomic<bool>* cancelled,
                                                     MemoryBeside memory,
                                                     std::shared_ptr<const Program> spare) {
  const int64_t begin = NowNs();
  if (Program::IsSet(cancelled)) return Program::Cancelled();
  RETURN_IF_ERROR(CheckSameBytes(near));
  has_other_ones_ = HasOtherOnes(near);
  doublings_ = std::max(0, static_cast<int>(std::log2(near.larger)));
  ChooseAsking(near.larger);
  std::unique_ptr<Program> program(new Program());
  program->plan_ = like_->plan_;
  program->maker_ = this;
  if (spare != nullptr && spare->maker_ == this && spare.use_count() == 1)
    program->steps_ = std::move(std::const_pointer_cast<Program>(spare)->steps_);
  program->steps_.resize(steps_.size());
  program->bytes_.reserve(tensors_.size());
  for (size_t t = 0; t < tensors_.size(); ++t)
    program->bytes_.push_back(
        StateBytes(*near.graph->value(tensors_[t]).shape, like_->plan().tensors[t].state));
  std::vector<Status> statuses(steps_.size());
  ThreadPool& pool = static_cast<const CpuDevice&>(devices.cpu()).pool();
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
  pool.ParallelFor(std::ssize(steps_), pool.threads(), [&](int64_t task, int) {
    const MemoryScope scope(budget);
    const auto i = static_cast<size_t>(task);
    statuses[i] = MakeStep(i, near, devices.cpu(), *program);
    if (statuses[i].ok()) statuses[i] = PackStep(i, near, packed, program->steps_[i]);
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  std::vector<TensorWindow> windows = program->PlanSteps(devices, &outline_);
  RETURN_IF_ERROR(program->CheckMemory(packed, memory, {}));
  Describe(near, std::move(windows), *program);
  program->build_times_ = {.kernels_ns = NowNs() - begin};
  return program;
}

}  // namespace fettle::exec
