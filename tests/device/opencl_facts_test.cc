// Facts as drivers tell them, those that cannot be among them.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "device/opencl/facts.h"
#include "device/opencl/work_groups.h"

namespace fettle {
namespace {

/// What the driver below says; what is not there is an error.
std::map<cl_device_info, std::string>& SaidByDriver() {
  static std::map<cl_device_info, std::string> said;
  return said;
}

template <typename T>
void SayFact(cl_device_info what, const T& value) {
  SaidByDriver()[what] = std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

cl_int CL_API_CALL TellFact(cl_device_id, cl_device_info what, size_t size, void* value,
                            size_t* needed) {
  const auto found = SaidByDriver().find(what);
  if (found == SaidByDriver().end()) return CL_INVALID_VALUE;
  if (needed != nullptr) *needed = found->second.size();
  if (value == nullptr) return CL_SUCCESS;
  if (size < found->second.size()) return CL_INVALID_VALUE;
  std::memcpy(value, found->second.data(), found->second.size());
  return CL_SUCCESS;
}

OpenClFacts ReadSaid() {
  OpenClApi api;
  api.GetDeviceInfo = TellFact;
  api.GetPlatformInfo = [](cl_platform_id, cl_platform_info, size_t, void*, size_t*) -> cl_int {
    return CL_INVALID_VALUE;
  };
  return ReadFacts(api, nullptr, nullptr);
}

constexpr cl_device_info kHalfConfig = 0x1033;  // CL_DEVICE_HALF_FP_CONFIG

TEST(OpenClFacts, ComputeHalvesWhereTheDriverSaysSo) {
  SaidByDriver().clear();
  EXPECT_FALSE(ReadSaid().fp16_compute);
  SaidByDriver()[CL_DEVICE_EXTENSIONS] = std::string("cl_khr_icd cl_khr_fp16\0", 23);
  EXPECT_TRUE(ReadSaid().fp16_compute) << "older drivers know the extension alone";
  SayFact(kHalfConfig, cl_device_fp_config{0});
  EXPECT_FALSE(ReadSaid().fp16_compute);
  SayFact(kHalfConfig, cl_device_fp_config{CL_FP_ROUND_TO_NEAREST});
  EXPECT_TRUE(ReadSaid().fp16_compute);
}

TEST(OpenClFacts, OfLiarsAreLimitsThatLaunchesStand) {
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0}}) {
    SaidByDriver().clear();
    SayFact(CL_DEVICE_MAX_COMPUTE_UNITS, static_cast<cl_uint>(limit));
    SayFact(CL_DEVICE_MAX_WORK_GROUP_SIZE, static_cast<size_t>(limit));
    const auto all = static_cast<size_t>(limit);
    SayFact(CL_DEVICE_MAX_WORK_ITEM_SIZES, std::array<size_t, 3>{all, all, all});
    SayFact(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong{limit});
    const OpenClFacts facts = ReadSaid();
    EXPECT_GE(facts.max_work_group_size, 1);
    EXPECT_GE(facts.compute_units, 1);
    EXPECT_GE(facts.global_cache_bytes, 0);
    for (const WorkShape& gws : {WorkShape{3136, 32, 1}, WorkShape{1, 1, 1}}) {
      const WorkGroupLimits limits = LimitsOf(facts, facts.max_work_group_size);
      for (const WorkShape& lws :
           {UnitLws(gws, facts.compute_units, limits), MnnLws(gws, facts.compute_units, limits),
            CacheLws(gws, limits.items, facts.global_cache_bytes)}) {
        EXPECT_GE(lws[0], 1u);
        EXPECT_LE(lws[0] * lws[1] * lws[2], static_cast<size_t>(limits.items));
      }
    }
  }
}

}  // namespace
}  // namespace fettle
