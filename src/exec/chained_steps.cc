// Programs: steps that are one launch together.
#include <algorithm>

#include "base/clock.h"
#include "exec/program.h"

namespace fettle::exec {

StepProfile Program::DescribeChain(const StepChain& chain, std::span<const Step> steps) {
  const StepProfile& first = *steps[chain.begin].profile;
  const StepProfile& last = *steps[chain.end - 1].profile;
  StepProfile profile;
  profile.node = fmt::format("{} steps, {} to {}", chain.end - chain.begin, first.node, last.node);
  profile.op = "Chain";
  profile.kernel = first.device + ".chain";
  profile.device = first.device;
  profile.layout_in = first.layout_in;
  profile.layout_out = last.layout_out;
  profile.dtype = last.dtype;
  for (int i = chain.begin; i < chain.end; ++i) {
    const StepProfile& step = *steps[i].profile;
    if (step.dtype == "f16" || step.dtype == "bf16") profile.dtype = step.dtype;
    profile.macs += step.macs;
    profile.bytes += step.bytes;
    profile.work.bytes += step.work.bytes;
    profile.work.operations += step.work.operations;
  }
  return profile;
}

std::vector<Location> Program::OperandsOf(const StepChain& chain, const RunArgs& args) const {
  std::vector<Location> operands;
  for (int i = chain.begin; i < chain.end; ++i) {
    for (const int tensor : plan_->steps[i].inputs) operands.push_back(Locate(tensor, args));
    for (const int tensor : plan_->steps[i].outputs) operands.push_back(Locate(tensor, args));
    operands.push_back(args.memory.bytes(steps_[i].device, memory_.workspaces[i]));
  }
  return operands;
}

Status Program::LaunchSteps(int begin, int end, const RunArgs& args) const {
  for (int i = begin; i < end; ++i)
    if (!steps_[i].nothing_to_do)
      RETURN_IF_ERROR(RunStep(i, args).WithContext(steps_[i].profile->node));
  return OkStatus();
}

Result<size_t> Program::RunChain(size_t index, const RunArgs& args) const {
  const auto known = std::ranges::find(plan_->chains, static_cast<int>(index), &StepChain::begin);
  if (known == plan_->chains.end()) return index;
  const StepChain& chain = *known;
  const size_t place = known - plan_->chains.begin();
  const std::shared_ptr<const StepProfile>& profile = chain_profiles_[place];
  Stream& stream = StreamOf(steps_[index], args);
  const int64_t begin = NowNs();
  LaunchChain* launch = args.chains->Find(
      {id_, place}, profile->node, OperandsOf(chain, args),
      [&] {
        return stream.MakeChain([&] { return LaunchSteps(chain.begin, chain.end, args); },
                                chain.groups);
      },
      {});
  if (launch == nullptr) return index;
  RETURN_IF_ERROR(launch->Enqueue().WithContext(profile->node));
  const Result<int64_t> ns = StepNs(index, begin, args);
  if (!ns.ok()) return ns.status().WithContext(profile->node);
  args.times->push_back({profile, *ns, FormOf(index, args)});
  return chain.end;
}

Result<bool> Program::ChainsMet(const RunArgs& args) const {
  if (args.chains == nullptr || plan_->chains.empty()) return true;
  for (const auto& stream : args.accelerators) {
    ASSIGN_OR_RETURN(const bool met, stream->ChainsMet());
    if (!met) return false;
  }
  return true;
}

}  // namespace fettle::exec
