// opencl.attention.prompt: GroupQueryAttention of many rows over a cache of halves, by matrix
// instructions (attention/prompt.cl).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/attention/cache.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kRows = 64, kTile = 64;  // of a work-group, and keys of a tile

Result<CacheFacts> Read(const ir::Graph& group, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  if (!of.mma.available) return Unsupported("the device is not known to have matrix instructions");
  ASSIGN_OR_RETURN(const CacheFacts facts, ReadCacheFacts(group));
  const ops::GroupQueryShape& a = facts.a;
  if (facts.cache != DType::kF16) return Unsupported("a cache of {}", DTypeName(facts.cache));
  if (a.size != a.v_size || a.size % 64 != 0 || a.size > 128)
    return Unsupported("keys of {} and values of {}", a.size, a.v_size);
  const int64_t bytes = 4 * kTile * a.size * 2 + kRows * 8;
  if (bytes > of.mma.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", bytes, of.mma.local_bytes);
  return facts;
}

int Taste(const CacheFacts& facts, const Device& device) {
  const bool has_rows = facts.a.length > 1 && facts.count() >= kRows;
  return has_rows && !AsOpenCl(device).facts().mma.emulated ? 40 : 1;
}

class PromptAttention final : public CacheKernel {
 public:
  using CacheKernel::CacheKernel;

  Status Build(const OpenClDevice& device) {
    RETURN_IF_ERROR(BuildAppends(device));
    BuildOptions options = CacheOptions(facts(), length_type());
    options.Define("EMULATED", device.facts().mma.emulated ? 1 : 0);
    ASSIGN_OR_RETURN(
        attend_, device.BuildKernel(MakeProgram("attention/prompt.cl", options), "attend_rows"));
    return OkStatus();
  }

  Status Launch(const LaunchArgs& args) const override {
    RETURN_IF_ERROR(StoreNew(args));
    ArgList list;
    AddQueriesAndCache(args, list);
    AddLengths(args, list);
    list.Tensor(args.outputs[0], 4)
        .Value(static_cast<cl_float>(facts().a.scale))
        .Value(static_cast<cl_float>(facts().a.softcap));
    return OpenClStreamOf(args).Launch(
        *attend_, GroupSizes(2 * kRows, DivideUp(facts().count(), kRows), facts().heads()),
        list.args());
  }

 private:
  std::shared_ptr<OpenClKernel> attend_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CacheFacts& facts,
                                                const Params&, const Device& device) {
  auto made = std::make_unique<PromptAttention>(problem, facts);
  RETURN_IF_ERROR(made->Build(AsOpenCl(device)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<CacheFacts> kFamily{
    .read = Read, .states = CacheStates, .prepare = Prepare, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClAttentionPrompt;
const KernelDesc kOpenClAttentionPrompt = {.name = "opencl.attention.prompt",
                                           .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
