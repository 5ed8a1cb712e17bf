// What launches, transfers and maps of an OpenCL device cost, as rows.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "device/gated_launches.h"
#include "kernels/opencl/probe/rows.h"
#include "tensor/tensor.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTransferBytes = 16 << 20, kFewBytes = 4 << 10;

/// A launch that reads nothing: steps 0.
Status LaunchNothing(const OpenClPlace& place, const OpenClKernel& kernel) {
  ArgList args;
  args.Memory(place.results()).Memory(place.results());
  args.Value(cl_uint{0}).Value(cl_uint{0}).Value(cl_uint{0});
  return place.stream().Launch(
      kernel, {.gws = {OpenClPlace::kGroup, 1, 1}, .lws = {OpenClPlace::kGroup, 1, 1}},
      args.args());
}

/// Of launches behind a gate, what `part` says, the mean; nothing where there is no gate.
Result<std::optional<ProbeSample>> RunGated(OpenClPlace& place, const OpenClKernel& kernel,
                                            int64_t count, double LaunchTimes::*part) {
  if (!place.stream().holds()) return std::optional<ProbeSample>();
  GatedLaunches gated(NowNs);
  const int64_t times = std::max<int64_t>(count / GatedLaunches::kLaunches, 1);
  const int64_t begin = NowNs();
  double sum = 0;
  for (int64_t i = 0; i < times; ++i) {
    ASSIGN_OR_RETURN(const auto one,
                     gated.Time(place.stream(), [&] { return LaunchNothing(place, kernel); }));
    if (!one) return std::optional<ProbeSample>();
    sum += *one.*part;
  }
  return std::optional(
      ProbeSample{sum / static_cast<double>(times), static_cast<double>(NowNs() - begin)});
}

/// What the host takes to enqueue one.
Result<ProbeSample> RunEnqueueing(OpenClPlace& place, int64_t count) {
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_read"));
  ASSIGN_OR_RETURN(const auto sample, RunGated(place, *kernel, count, &LaunchTimes::host_us));
  if (!sample) return Error(StatusCode::kUnsupported, "the device is the host, or launches wait");
  return *sample;
}

/// What one more adds to a full queue. The device's own share, where it is not the host.
Result<ProbeSample> RunLaunches(OpenClPlace& place, int64_t count) {
  constexpr int kFew = 8;
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_read"));
  ASSIGN_OR_RETURN(const auto gated, RunGated(place, *kernel, count, &LaunchTimes::device_us));
  if (gated) return *gated;
  const auto enqueue = [&](int64_t launches) -> Status {
    for (int64_t i = 0; i < launches; ++i) RETURN_IF_ERROR(LaunchNothing(place, *kernel));
    return OkStatus();
  };
  ASSIGN_OR_RETURN(const double few, place.Ns([&] { return enqueue(kFew); }));
  ASSIGN_OR_RETURN(const double many, place.Ns([&] { return enqueue(kFew + count); }));
  return ProbeSample{std::max(many - few, 1.0) / static_cast<double>(count) * 1e-3, many};
}

/// A launch and waiting for it.
Result<ProbeSample> RunRoundTrips(OpenClPlace& place, int64_t count) {
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_read"));
  ASSIGN_OR_RETURN(const double ns, place.Ns([&]() -> Status {
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(LaunchNothing(place, *kernel));
      RETURN_IF_ERROR(place.stream().Synchronise());
    }
    return OkStatus();
  }));
  return ProbeSample{ns / static_cast<double>(count) * 1e-3, ns};
}

/// A tensor of a row that the host writes, reads or maps.
struct Handed {
  OpenClPlace& place;
  int64_t count;  // of floats
  std::shared_ptr<DeviceMemory> memory = nullptr;
  std::shared_ptr<std::byte> host = nullptr;  // where transfers take the least time

  int64_t bytes() const { return count * static_cast<int64_t>(sizeof(float)); }
  DeviceTensor tensor() const {
    return {.memory = memory,
            .shape = Shape{count},
            .state = {.device = DeviceKind::kOpenCl, .memory = MemoryKind::kBuffer}};
  }
};

constexpr float kValue = 3;

/// Makes both memories, once.
Status Make(Handed& handed) {
  if (handed.memory != nullptr) return OkStatus();
  handed.host = handed.place.device().AllocateForTransfers(handed.bytes());
  if (handed.host == nullptr) {
    ASSIGN_OR_RETURN(handed.host, AllocateHost(handed.bytes()));
  }
  std::fill_n(reinterpret_cast<float*>(handed.host.get()), handed.count, kValue);
  ASSIGN_OR_RETURN(handed.memory, handed.place.device().Allocate(
                                      {.kind = MemoryKind::kBuffer, .bytes = handed.bytes()}));
  return handed.place.stream().Write(*handed.memory, 0, handed.host.get(), handed.bytes());
}

Status WriteOnce(Handed& handed) {
  return handed.place.stream().Write(*handed.memory, 0, handed.host.get(), handed.bytes());
}

Status ReadOnce(Handed& handed) {
  return handed.place.stream().Read(handed.host.get(), *handed.memory, 0, handed.bytes());
}

Status MapToRead(Handed& handed) {
  ASSIGN_OR_RETURN(const auto mapped,
                   handed.place.stream().Map(handed.tensor(), {}, MapAccess::kRead));
  const auto* first = reinterpret_cast<const float*>(mapped->data());
  if (first[0] != kValue || first[handed.count - 1] != kValue) return WrongResult();
  return mapped->Unmap();
}

Status MapToWrite(Handed& handed) {
  ASSIGN_OR_RETURN(const auto mapped,
                   handed.place.stream().Map(handed.tensor(), {}, MapAccess::kWrite));
  auto* first = reinterpret_cast<float*>(mapped->writable());
  first[0] = first[handed.count - 1] = kValue;
  return mapped->Unmap();
}

using HandOver = Status (*)(Handed&);

/// Each hand-over waits for its end, as that of an input or output does.
Result<ProbeSample> RunHandOver(Handed& handed, HandOver hand_over, bool is_rate, int64_t count) {
  RETURN_IF_ERROR(Make(handed));
  ASSIGN_OR_RETURN(const double ns, handed.place.Ns([&]() -> Status {
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(hand_over(handed));
      RETURN_IF_ERROR(handed.place.stream().Synchronise());
    }
    return OkStatus();
  }));
  const auto times = static_cast<double>(count);
  const double bytes = static_cast<double>(handed.bytes()) * times;
  return ProbeSample{is_rate ? bytes / ns * 1e9 : ns * 1e-3 / times, ns};
}

ProbeRow LatencyRow(OpenClPlace& place, std::string_view name, std::string_view row,
                    Result<ProbeSample> (*run)(OpenClPlace&, int64_t)) {
  ProbeRow made{.name = {.name = std::string(name),
                         .unit = "us",
                         .group = "queue",
                         .row = std::string(row),
                         .column = "us"}};
  made.run = [&place, run](int64_t amount) { return run(place, amount); };
  made.most = 1000;
  return made;
}

}  // namespace

std::vector<ProbeRow> OpenClQueueRows(OpenClPlace& place) {
  const struct {
    std::string_view name;  // of the rate of a large one
    HandOver hand_over;
    bool is_transfer;  // moves bytes wherever memory is
  } hand_overs[] = {{"host to device", WriteOnce, true},
                    {"device to host", ReadOnce, true},
                    {"map to read", MapToRead, false},
                    {"map to write", MapToWrite, false}};
  std::vector<ProbeRow> rows;
  rows.push_back(LatencyRow(place, "launch us", "launch", RunLaunches));
  rows.back().for_bounds = true;
  rows.push_back(LatencyRow(place, "enqueue us", "enqueue", RunEnqueueing));
  rows.push_back(LatencyRow(place, "round trip us", "round trip", RunRoundTrips));
  for (const auto& one : hand_overs) {
    for (const int64_t bytes : {kTransferBytes, kFewBytes}) {
      const bool is_rate = bytes == kTransferBytes && one.is_transfer;
      const std::string few = fmt::format("{} {}", one.name, BinarySize(bytes));
      ProbeRow row{.name = {.name = is_rate ? std::string(one.name) : few,
                            .unit = is_rate ? "B/s" : "us",
                            .group = is_rate ? "transfers" : "queue",
                            .row = is_rate ? std::string(one.name) : few,
                            .column = is_rate ? BinarySize(bytes) : "us"},
                   .for_bounds = is_rate};
      const auto handed = std::make_shared<Handed>(
          Handed{.place = place, .count = bytes / static_cast<int64_t>(sizeof(float))});
      row.run = [handed, hand_over = one.hand_over, is_rate](int64_t count) {
        return RunHandOver(*handed, hand_over, is_rate, count);
      };
      row.most = 1000;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace fettle::kernels
