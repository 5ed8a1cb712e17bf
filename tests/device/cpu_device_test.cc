#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "device/cpu/amx.h"

namespace fettle {
namespace {

TEST(CpuInfo, CountsCoresWithinTheAffinityMask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_GE(GetCpuInfo().cores, 1);
  EXPECT_LE(GetCpuInfo().cores, CPU_COUNT(&set));
}

TEST(CpuInfo, WiderInstructionSetsImplyNarrowerOnes) {
  const CpuInfo& info = GetCpuInfo();
  if (info.avx512_vnni || info.avx512_bf16) {
    EXPECT_TRUE(info.avx512);
  }
  if (info.avx512) {
    EXPECT_TRUE(info.avx2 && info.fma);
  }
  if (info.avx_vnni) {
    EXPECT_TRUE(info.avx2);
  }
  if (GetAmxSets().int8 || GetAmxSets().bf16) {
    EXPECT_TRUE(info.avx512_vnni);
  }
}

TEST(CpuInfo, CachesGrowWithTheirLevel) {
  const CpuInfo& info = GetCpuInfo();
  if (info.l1d_bytes != 0 && info.l2_bytes != 0) {
    EXPECT_LE(info.l1d_bytes, info.l2_bytes);
  }
}

TEST(CpuDevice, FingerprintNamesModelAndInstructionSets) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::string fingerprint(device.fingerprint());
  EXPECT_NE(fingerprint.find(device.info().model), std::string::npos);
  EXPECT_EQ(fingerprint.find(" avx512") != std::string::npos, device.info().avx512);
}

TEST(CpuStream, RunsOnItsNumberOfLanes) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  CpuStream stream(device, 2);
  int64_t sums[2] = {0, 0};
  stream.ParallelFor(100, [&](int64_t i, int lane) { sums[lane] += i; });
  EXPECT_EQ(sums[0] + sums[1], 4950);
  EXPECT_TRUE(stream.Synchronise().ok());
}

}  // namespace
}  // namespace fettle
