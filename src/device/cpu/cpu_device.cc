#include "device/cpu/cpu_device.h"

#include <cpuinfo.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/log.h"
#include "device/cpu/amx.h"
#include "tensor/tensor.h"

namespace fettle {
namespace {

/// Processors that this process may run on; 0 where the system does not say.
int AllowedProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// "QUOTA PERIOD" of cgroup v2, or the two files of v1, as whole processors; 0 where there is no
/// limit.
int ProcessorQuota() {
  double quota = -1, period = -1;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    if (std::fscanf(file, "%lf %lf", &quota, &period) != 2) quota = -1;
    std::fclose(file);
  } else {
    const auto read = [](const char* path, double& value) {
      if (std::FILE* v1 = std::fopen(path, "re")) {
        if (std::fscanf(v1, "%lf", &value) != 1) value = -1;
        std::fclose(v1);
      }
    };
    read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
    read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period);
  }
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::clamp(std::ceil(quota / period), 1.0, 4096.0));
}

/// Physical cores that the affinity mask reaches. Two hardware threads of a core count once: they
/// share its vector units.
int AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return static_cast<int>(cpuinfo_get_cores_count());
  }
  int cores = 0;
  for (uint32_t i = 0; i < cpuinfo_get_cores_count(); ++i) {
    const cpuinfo_core* core = cpuinfo_get_core(i);
    bool allowed = false;
    for (uint32_t p = 0; p < core->processor_count; ++p) {
      const int id = cpuinfo_get_processor(core->processor_start + p)->linux_id;
      allowed =
          allowed || (id >= 0 && id < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(id), &set));
    }
    cores += allowed ? 1 : 0;
  }
  return std::max(cores, 1);
}

int64_t CacheBytes(const cpuinfo_cache* cache) { return cache == nullptr ? 0 : cache->size; }

/// AVX-VNNI (CPUID leaf 7, sub-leaf 1, EAX bit 4), which Debian's cpuinfo does not know.
bool HasAvxVnni() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 16U) != 0;
#else
  return false;
#endif
}

void ReadLaterSets([[maybe_unused]] CpuInfo& info) {
#if defined(__x86_64__)
  info.avx512_vpopcntdq = info.avx512 && __builtin_cpu_supports("avx512vpopcntdq") != 0;
  info.avx512_vbmi = info.avx512 && __builtin_cpu_supports("avx512vbmi") != 0;
#endif
}

void ReadInstructionSets(CpuInfo& info) {
  info.avx2 = cpuinfo_has_x86_avx2();
  info.fma = cpuinfo_has_x86_fma3();
  info.avx512 = cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() &&
                cpuinfo_has_x86_avx512vl() && cpuinfo_has_x86_avx512dq() &&
                cpuinfo_has_x86_avx512cd();
  info.avx512_vnni = info.avx512 && cpuinfo_has_x86_avx512vnni();
  info.avx512_bf16 = info.avx512 && cpuinfo_has_x86_avx512bf16();
  info.avx_vnni = info.avx2 && HasAvxVnni();
  ReadLaterSets(info);
  info.neon = cpuinfo_has_arm_neon();
  info.dotprod = cpuinfo_has_arm_neon_dot();
  info.fp16 = cpuinfo_has_arm_neon_fp16_arith();
#if defined(__aarch64__)
  info.neon = true;
#endif
}

/// Hides what lies above the level that the environment asks for.
void ApplyIsaLevel(CpuInfo& info) {
  const char* text = std::getenv("FETTLE_CPU_ISA");
  if (text == nullptr || *text == '\0') return;
  const std::string_view level = text;
  if (level == "amx" || level == "avx512") return;
  if (level != "avxvnni" && level != "avx2" && level != "baseline") {
    Log(LogLevel::kWarn,
        "FETTLE_CPU_ISA: expected baseline|avx2|avxvnni|avx512|amx, got '{}'; ignored", level);
    return;
  }
  info.avx512 = info.avx512_vnni = info.avx512_bf16 = false;
  info.avx512_vpopcntdq = info.avx512_vbmi = false;
  if (level != "avxvnni") info.avx_vnni = false;
  if (level == "baseline") {
    info.avx2 = info.fma = false;
    info.dotprod = info.i8mm = info.fp16 = false;
  }
}

CpuInfo ReadCpuInfo() {
  CpuInfo info;
  if (!cpuinfo_initialize() || cpuinfo_get_cores_count() == 0) {
    info.model = "unknown";
    Log(LogLevel::kWarn, "cpuinfo does not know this processor: one core, baseline instructions");
    return info;
  }
  if (cpuinfo_get_packages_count() > 0) info.model = cpuinfo_get_package(0)->name;
  info.cores = AllowedCores();
  if (const int allowed = AllowedProcessors(); allowed > 0)
    info.cores = std::min(info.cores, allowed);
  if (const int quota = ProcessorQuota(); quota > 0) info.cores = std::min(info.cores, quota);
  const cpuinfo_processor* processor = cpuinfo_get_processor(0);
  info.l1d_bytes = CacheBytes(processor->cache.l1d);
  info.l2_bytes = CacheBytes(processor->cache.l2);
  info.l3_bytes = CacheBytes(processor->cache.l3);
  ReadInstructionSets(info);
  ApplyIsaLevel(info);
  return info;
}

std::string Fingerprint(const CpuInfo& info) {
  std::string text = fmt::format("{}; {} cores; L1d {} L2 {} L3 {};", info.model, info.cores,
                                 info.l1d_bytes, info.l2_bytes, info.l3_bytes);
  const std::pair<bool, std::string_view> sets[] = {
      {info.avx2, "avx2"},
      {info.fma, "fma"},
      {info.avx512, "avx512"},
      {info.avx512_vnni, "avx512vnni"},
      {info.avx_vnni, "avxvnni"},
      {info.avx512_bf16, "avx512bf16"},
      {info.neon, "neon"},
      {info.dotprod, "dotprod"},
      {info.i8mm, "i8mm"},
      {info.fp16, "fp16"},
      {GetAmxSets().int8, "amxint8"},
      {GetAmxSets().bf16, "amxbf16"},
  };
  for (const auto& [present, name] : sets) {
    if (present) text.append(" ").append(name);
  }
  return text;
}

}  // namespace

namespace {

CpuInfo& TheCpuInfo() {
  static CpuInfo info = ReadCpuInfo();
  return info;
}

}  // namespace

const CpuInfo& GetCpuInfo() { return TheCpuInfo(); }

void AssumeCpu(const CpuInfo& info) { TheCpuInfo() = info; }

CpuDevice::CpuDevice(std::shared_ptr<ThreadPool> pool)
    : info_(GetCpuInfo()), fingerprint_(Fingerprint(info_)), pool_(std::move(pool)) {}

namespace {

class HostMemory final : public DeviceMemory {
 public:
  HostMemory(const MemoryRequest& request, std::shared_ptr<std::byte> data)
      : DeviceMemory(request), data_(std::move(data)) {}
  void* base() const override { return data_.get(); }
  std::byte* shared() const override { return data_.get(); }

 private:
  std::shared_ptr<std::byte> data_;
};

}  // namespace

Result<std::shared_ptr<DeviceMemory>> CpuDevice::Allocate(const MemoryRequest& request) const {
  if (request.kind != MemoryKind::kHost) return Unsupported("the CPU has host memory only");
  ASSIGN_OR_RETURN(std::shared_ptr<std::byte> data, AllocateHost(request.bytes));
  return std::shared_ptr<DeviceMemory>(std::make_shared<HostMemory>(request, std::move(data)));
}

Result<std::unique_ptr<Stream>> CpuDevice::NewStream(const StreamOptions& options) const {
  return std::unique_ptr<Stream>(
      std::make_unique<CpuStream>(*this, options.threads, options.subnormals));
}

Status CpuStream::Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) {
  std::memcpy(to.location(offset).host<std::byte>(), from, bytes);
  return OkStatus();
}

Result<std::unique_ptr<MappedTensor>> CpuStream::Map(const DeviceTensor& tensor,
                                                     const HostForm& host, MapAccess access) {
  return MapHostTensor(tensor, host, access);
}

Status CpuStream::Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) {
  std::memcpy(to, from.location(offset).host<std::byte>(), bytes);
  return OkStatus();
}

ShareOut ShareOutBy(ThreadPool& pool) {
  return [&pool](int64_t tasks, const std::function<void(int64_t)>& task) {
    pool.ParallelFor(tasks, pool.threads(), [&](int64_t i, int) { task(i); });
  };
}

}  // namespace fettle
