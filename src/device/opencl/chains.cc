// Streams that make one launch of several, whose work-groups meet between two of them.
#include "base/clock.h"
#include "device/opencl/chain_text.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

/// The state of the barrier, as the chain's kernel has it.
struct ChainState {
  cl_uint come = 0, gave_up = 0;
};

/// How often a work-group looks whether the others have come. A look goes to the memory that all
/// compute units share and takes a GPU some 400 ns; a host's core some nanoseconds, which others
/// may have meanwhile.
cl_uint MostLooks(const OpenClFacts& facts) { return facts.is_cpu ? 1u << 24 : 1u << 20; }
/// No device looks faster, so that what ended sooner has not given up.
constexpr int64_t kLeastNsOfALook = 1;

size_t GroupItems(const std::array<size_t, 3>& lws) { return lws[0] * lws[1] * lws[2]; }

/// Work-groups that the driver chooses tell their place by get_global_id, and nobody rounds their
/// number up.
Status CutFree(size_t items, WorkSizes& sizes) {
  if (sizes.gws[0] % items != 0)
    return Unsupported("{} work-items that do not make work-groups of {}", sizes.gws[0], items);
  sizes.lws = {items, 1, 1};
  return OkStatus();
}

/// Has the launch work-groups of `items`, where it takes any.
Status Cut(size_t items, WorkSizes& sizes) {
  if (sizes.lws[0] == 0) return CutFree(items, sizes);
  if (!sizes.any_group || GroupItems(sizes.lws) == items) return OkStatus();
  sizes.lws = SmallerGroup(sizes.lws, items);
  if (items % GroupItems(sizes.lws) != 0)
    return Unsupported("work-groups of {} items among ones of {}", GroupItems(sizes.lws), items);
  sizes.lws[0] *= items / GroupItems(sizes.lws);
  sizes.gws[0] = (sizes.gws[0] + sizes.lws[0] - 1) / sizes.lws[0] * sizes.lws[0];
  return OkStatus();
}

bool IsFixed(const WorkSizes& sizes) { return !sizes.any_group && sizes.lws[0] > 0; }

/// The most of the launches that take one size of work-groups; where none does, of all.
size_t ItemsFor(const std::vector<ChainCall>& calls) {
  size_t fixed = 0, any = 1;
  for (const ChainCall& call : calls) {
    size_t& most = IsFixed(call.sizes) ? fixed : any;
    most = std::max(most, GroupItems(call.sizes.lws));
  }
  return fixed > 0 ? fixed : any;
}

bool HasPtx(const OpenClFacts& facts) { return facts.mma.available && !facts.mma.emulated; }

Result<ChainText> TextOf(std::vector<ChainCall>& calls, size_t items, size_t places,
                         const OpenClDevice& device) {
  const OpenClFacts& facts = device.facts();
  const bool has_mma = HasPtx(facts);
  ChainText text(
      {.items = items,
       .places = places,
       .local_bytes = static_cast<size_t>(has_mma ? facts.mma.local_bytes : facts.local_bytes),
       .ptx = has_mma});
  for (ChainCall& call : calls) {
    RETURN_IF_ERROR(Cut(items, call.sizes));
    ChainStage stage{.program = &call.kernel->program().source(),
                     .function = call.kernel->function(),
                     .lws = call.sizes.lws,
                     .args = call.args};
    for (size_t axis = 0; axis < 3; ++axis)
      stage.groups[axis] = call.sizes.gws[axis] / call.sizes.lws[axis];
    cl_ulong local = 0;
    RETURN_IF_ERROR(OpenClStatus(device.api().GetKernelWorkGroupInfo(
                                     call.kernel->get(), device.id(), CL_KERNEL_LOCAL_MEM_SIZE,
                                     sizeof(local), &local, nullptr),
                                 "OpenCL: local memory of a kernel"));
    stage.local_bytes = local;
    RETURN_IF_ERROR(text.Add(stage).WithContext(stage.function));
  }
  return text;
}

}  // namespace

class OpenClChain final : public LaunchChain {
 public:
  OpenClChain(OpenClStream& stream, std::shared_ptr<OpenClKernel> kernel, const WorkSizes& sizes,
              std::vector<KernelArg> args)
      : stream_(stream), kernel_(std::move(kernel)), sizes_(sizes), args_(std::move(args)) {}

  Status Enqueue() override {
    if (stream_.chained_ns_ == 0) stream_.chained_ns_ = NowNs();
    return stream_.Launch(*kernel_, sizes_, args_);
  }

 private:
  OpenClStream& stream_;
  std::shared_ptr<OpenClKernel> kernel_;
  WorkSizes sizes_;
  std::vector<KernelArg> args_;
};

Status OpenClStream::CheckMayTransfer() const {
  if (recorded_ == nullptr) return OkStatus();
  return Unsupported("transfers between host and device cannot be part of a chain");
}

Result<std::vector<ChainCall>> OpenClStream::Record(const std::function<Status()>& launches) {
  std::vector<ChainCall> calls;
  recorded_ = &calls;
  const Status recorded = launches();
  recorded_ = nullptr;
  RETURN_IF_ERROR(recorded);
  if (calls.empty()) return Unsupported("no launches");
  return calls;
}

Result<std::unique_ptr<LaunchChain>> OpenClStream::MakeChain(
    const std::function<Status()>& launches, int groups) {
  RETURN_IF_ERROR(device_->CheckChains());
  return BuildChain(launches, groups);
}

Result<std::unique_ptr<LaunchChain>> OpenClStream::BuildChain(
    const std::function<Status()>& launches, int groups) {
  if (options_.kernel_ms > 0) return Unsupported("launches are split to keep them short");
  ASSIGN_OR_RETURN(std::vector<ChainCall> calls, Record(launches));
  const size_t items = ItemsFor(calls);
  const size_t places = groups > 0 ? groups : device_->facts().compute_units;
  ASSIGN_OR_RETURN(const ChainText text, TextOf(calls, items, places, *device_));
  ASSIGN_OR_RETURN(auto kernel, device_->BuildKernel(text.Source(), std::string(kChainFunction)));
  if (chain_state_ == nullptr) {
    ASSIGN_OR_RETURN(chain_state_,
                     device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = sizeof(ChainState)}));
    RETURN_IF_ERROR(ResetChains());
  }
  std::vector<KernelArg> args = {chain_state_->location(), MostLooks(device_->facts())};
  for (const cl_mem memory : text.memory()) args.emplace_back(memory);
  const WorkSizes sizes{.gws = {items * places, 1, 1}, .lws = {items, 1, 1}};
  return std::unique_ptr<LaunchChain>(
      std::make_unique<OpenClChain>(*this, std::move(kernel), sizes, std::move(args)));
}

Result<bool> OpenClStream::ChainsMet() {
  if (chained_ns_ == 0) return true;
  const int64_t since = std::exchange(chained_ns_, 0);
  if (NowNs() - since < MostLooks(device_->facts()) * kLeastNsOfALook) return true;
  ChainState state;
  const Transfers counted = transfers_;
  RETURN_IF_ERROR(ReadBuffer(&state, chain_state_->location(), sizeof(state)));
  transfers_ = counted;
  if (state.gave_up == 0) return true;
  RETURN_IF_ERROR(ResetChains());
  return false;
}

Status OpenClStream::ResetChains() {
  const Transfers counted = transfers_;
  const ChainState none;
  RETURN_IF_ERROR(WriteBuffer(chain_state_->location(), &none, sizeof(none)));
  transfers_ = counted;
  return OkStatus();
}

void OpenClStream::NoteForm(const OpenClKernel& kernel, const WorkSizes& sizes) {
  const ProgramSource& source = kernel.program().source();
  ++form_.launches;
  if (const Status status = fettle::CheckChains(source); !status.ok())
    form_.refusal = status.message();
  const std::string options = OptionsWithoutMacros(source.options);
  const auto items = static_cast<int64_t>(IsFixed(sizes) ? GroupItems(sizes.lws) : 0);
  if (form_.launches > 1 && options != form_.options) form_.refusal = "launches of other options";
  form_.mixes = HasPtx(device_->facts());
  if (items > 0 && form_.items > 0 && items != form_.items && !form_.mixes)
    form_.refusal = fmt::format("work-groups of {} and of {} items", form_.items, items);
  form_.options = options;
  form_.items = std::max(form_.items, items);
  int64_t groups = 1;
  for (size_t axis = 0; axis < 3; ++axis)
    groups *= static_cast<int64_t>(sizes.gws[axis] / std::max<size_t>(sizes.lws[axis], 1));
  form_.fits &= groups <= device_->facts().compute_units;
}

LaunchForm OpenClStream::TakeForm() { return std::exchange(form_, {}); }

}  // namespace fettle
