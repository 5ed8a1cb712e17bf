// Matrix tiles (Intel AMX): which of their instructions this process may use.
#pragma once

namespace fettle {

struct AmxSets {
  bool int8 = false, bf16 = false;
};

/// The tiles that this process may use: the processor and the system have them, and the kernel
/// allows tile data, which is asked once for all threads of the process (arch_prctl, Linux 5.16).
/// Empty where one of these fails, where CpuInfo says no avx512_vnni, and with
/// FETTLE_CPU_ISA=baseline|avx2|avx512. Thread-safe; kernels/cpu/simd/amx_tiles.h configures tiles.
const AmxSets& GetAmxSets();

/// As AssumeCpu (cpu_device.h).
void AssumeAmx(const AmxSets& sets);

}  // namespace fettle
