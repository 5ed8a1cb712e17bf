#include "kernels/opencl/probe/probe.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

constexpr int kRepeats = 5;
constexpr size_t kGroup = 64;
constexpr double kLongEnoughNs = 4e6;
constexpr int kOperationsPerLane = 16;
constexpr int64_t kSmallBytes = 256 << 10, kLargeBytes = 256 << 20;
constexpr int64_t kTransferBytes = 16 << 20;

/// Launches the two functions of probe.cl.
class Probing {
 public:
  explicit Probing(const OpenClDevice& device) : device_(device) {}

  Result<OpenClCeilings> Run() {
    BuildOptions options;
    options.Define("PROCESSOR", device_.facts().is_cpu);
    const ProgramSource program = MakeProgram("probe/probe.cl", options);
    ASSIGN_OR_RETURN(fma_, device_.BuildKernel(program, "probe_fma"));
    ASSIGN_OR_RETURN(read_, device_.BuildKernel(program, "probe_read"));
    ASSIGN_OR_RETURN(stream_, device_.NewStream({}));
    // Enough to fill a device of many units, few enough for two cores.
    items_ = static_cast<size_t>(device_.facts().compute_units) *
             (device_.facts().is_cpu ? kGroup * 4 : kGroup * 32);
    ASSIGN_OR_RETURN(out_, device_.Allocate({.kind = MemoryKind::kBuffer,
                                             .bytes = static_cast<int64_t>(items_) * 4}));
    OpenClCeilings ceilings;
    ASSIGN_OR_RETURN(ceilings.flops, Flops());
    ceilings.flops_spread = spread_;
    ASSIGN_OR_RETURN(ceilings.read_rate, ReadRate(kSmallBytes));
    ceilings.read_spread = spread_;
    ASSIGN_OR_RETURN(ceilings.global_rate, ReadRate(LargeBytes()));
    ceilings.global_spread = spread_;
    ceilings.read_rate = std::max(ceilings.read_rate, ceilings.global_rate);
    ASSIGN_OR_RETURN(ceilings.launch_us, LaunchUs());
    ceilings.launch_spread = spread_;
    RETURN_IF_ERROR(Transfers(ceilings));
    return ceilings;
  }

 private:
  OpenClStream& stream() { return static_cast<OpenClStream&>(*stream_); }

  /// Of the vectors in probe.cl.
  int Lanes() const { return device_.facts().is_cpu ? 16 : 4; }

  int64_t LargeBytes() const {
    const OpenClFacts& facts = device_.facts();
    int64_t bytes = kLargeBytes;
    if (facts.max_allocation_bytes > 0) bytes = std::min(bytes, facts.max_allocation_bytes / 2);
    // A processor's caches are small, and its memory slow to fill.
    return facts.is_cpu ? std::min<int64_t>(bytes, 64 << 20) : bytes;
  }

  Status LaunchFma(int rounds) {
    ArgList args;
    args.Memory(out_->location()).Value(0.999F).Value(static_cast<cl_int>(rounds));
    return stream().Launch(*fma_, {.gws = {items_, 1, 1}, .lws = {kGroup, 1, 1}}, args.args());
  }

  /// Nanoseconds of `launch`, the least of some repeats; leaves how far they lie apart in spread_.
  template <typename Launch>
  Result<double> LeastNs(Launch launch) {
    double least = 1e18, most = 0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const int64_t begin = NowNs();
      RETURN_IF_ERROR(launch());
      RETURN_IF_ERROR(stream_->Synchronise());
      const auto ns = static_cast<double>(NowNs() - begin);
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
    spread_ = most > 0 ? 1 - least / most : 0;
    return std::max(least, 1.0);
  }

  /// Runs `launch(amount)` with growing amounts until one is long enough; work of one amount by
  /// its nanoseconds.
  template <typename Launch>
  Result<double> AmountPerNs(Launch launch) {
    for (int amount = 16;; amount *= 4) {
      ASSIGN_OR_RETURN(const double ns, LeastNs([&] { return launch(amount); }));
      if (ns >= kLongEnoughNs || amount > (1 << 22)) return amount / ns;
    }
  }

  Result<double> Flops() {
    ASSIGN_OR_RETURN(const double rounds_per_ns,
                     AmountPerNs([&](int rounds) { return LaunchFma(rounds); }));
    return rounds_per_ns * 1e9 * kOperationsPerLane * Lanes() * static_cast<double>(items_);
  }

  Result<double> ReadRate(int64_t bytes) {
    ASSIGN_OR_RETURN(const auto in,
                     device_.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    const auto launch = [&](int repeats) {
      ArgList args;
      args.Memory(in->location()).Memory(out_->location());
      args.Value(static_cast<cl_int>(bytes / (4 * Lanes())))
          .Value(static_cast<cl_int>(repeats / 16));
      return stream().Launch(*read_, {.gws = {items_, 1, 1}, .lws = {kGroup, 1, 1}}, args.args());
    };
    ASSIGN_OR_RETURN(const double repeats_per_ns, AmountPerNs(launch));
    return repeats_per_ns / 16 * 1e9 * static_cast<double>(bytes);
  }

  Result<double> LaunchUs() {
    constexpr int kFew = 8, kMany = 72;
    const auto enqueue = [&](int count) -> Status {
      for (int i = 0; i < count; ++i) RETURN_IF_ERROR(LaunchFma(0));
      return OkStatus();
    };
    ASSIGN_OR_RETURN(const double few, LeastNs([&] { return enqueue(kFew); }));
    ASSIGN_OR_RETURN(const double many, LeastNs([&] { return enqueue(kMany); }));
    return std::max(many - few, 0.0) / (kMany - kFew) * 1e-3;
  }

  Status Transfers(OpenClCeilings& ceilings) {
    const int64_t bytes = std::min(kTransferBytes, LargeBytes());
    std::vector<std::byte> host(bytes);
    ASSIGN_OR_RETURN(const auto memory,
                     device_.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    const auto write = [&] { return stream_->Write(*memory, 0, host.data(), bytes); };
    const auto read = [&] { return stream_->Read(host.data(), *memory, 0, bytes); };
    ASSIGN_OR_RETURN(const double write_ns, LeastNs(write));
    ceilings.to_device_spread = spread_;
    ASSIGN_OR_RETURN(const double read_ns, LeastNs(read));
    ceilings.to_host_spread = spread_;
    ceilings.to_device_rate = static_cast<double>(bytes) / write_ns * 1e9;
    ceilings.to_host_rate = static_cast<double>(bytes) / read_ns * 1e9;
    return OkStatus();
  }

  const OpenClDevice& device_;
  std::shared_ptr<OpenClKernel> fma_, read_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<DeviceMemory> out_;
  size_t items_ = 0;
  double spread_ = 0;  // of the latest repeats
};

}  // namespace

Result<OpenClCeilings> ProbeOpenCl(const Device& device) { return Probing(AsOpenCl(device)).Run(); }

}  // namespace fettle::kernels
