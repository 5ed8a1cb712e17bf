// What the rules of memory and work-groups come to on GPUs that are not here, by facts that their
// users recorded with clinfo (or a program like it) in public issues.
#include <gtest/gtest.h>

#include "device/opencl/opencl_device.h"
#include "device/opencl/paper_device.h"
#include "device/opencl/work_groups.h"
#include "kernels/backend.h"
#include "kernels/opencl/paper.h"
#include "kernels/opencl/states.h"
#include "runtime/device_choice.h"

namespace fettle::runtime {
namespace {

using Svm = SharedVirtualMemory;

/// As recorded; what a record does not say is the least that its version of OpenCL allows. `half`:
/// cl_khr_fp16.
struct RecordedGpu {
  const char* source;
  const char *name, *vendor, *version;
  int units;
  int64_t group, cache_bytes, image_side;
  bool half, coarse, fine, unified;
  // What is to be.
  const char* family;
  MemoryKind memory;
  Svm svm;
};
constexpr RecordedGpu kGpus[] = {
    {"xmrig/xmrig#2383", "QUALCOMM Adreno(TM)", "QUALCOMM", "OpenCL 2.0 Adreno(TM) 650", 3, 1, 0,
     16384, false, true, false, true, "adreno", MemoryKind::kImage2d, Svm::kCoarse},
    {"ggml-org/llama.cpp#2133", "QUALCOMM Adreno(TM)", "QUALCOMM", "OpenCL 2.0 Adreno(TM) 640", 1,
     1, 0, 16384, false, true, false, true, "adreno", MemoryKind::kImage2d, Svm::kCoarse},
    {"Oblomov/clinfo#92", "QUALCOMM Adreno(TM) 750", "QUALCOMM", "OpenCL 3.0 Adreno(TM) 750", 1, 1,
     0, 16384, true, true, true, true, "adreno", MemoryKind::kImage2d, Svm::kFine},
    {"ggml-org/llama.cpp#14535", "QUALCOMM Adreno(TM) 830", "QUALCOMM", "OpenCL 3.0 Adreno(TM) 830",
     1, 1, 0, 16384, true, true, true, true, "adreno", MemoryKind::kImage2d, Svm::kFine},
    {"ARM-software/ComputeLibrary#999", "Mali-G52", "ARM", "OpenCL 2.0", 2, 384, 0, 16384, true,
     true, false, true, "mali", MemoryKind::kBuffer, Svm::kOff},
    {"96boards-hikey/linux#59", "Mali-G71", "ARM", "OpenCL 2.0", 8, 384, 0, 16384, false, true,
     false, true, "mali", MemoryKind::kBuffer, Svm::kOff},
    {"microsoft/ArchProbe#10", "Mali-G78", "ARM", "OpenCL 2.0", 24, 512, 2097152, 65536, false,
     true, false, true, "mali", MemoryKind::kBuffer, Svm::kOff},
    {"ggml-org/llama.cpp#2636", "Mali-G710", "ARM", "OpenCL 3.0", 1, 1, 2097152, 65536, false, true,
     false, true, "mali", MemoryKind::kBuffer, Svm::kOff},
    {"pocl/pocl#1263", "PowerVR B-Series BXE-4-32", "Imagination Technologies", "OpenCL 3.0", 1, 1,
     0, 16384, false, false, false, true, "powervr", MemoryKind::kImage2d, Svm::kOff},
    {"intel/compute-runtime#428, #207", "Intel(R) UHD Graphics [0x9bca]", "Intel(R) Corporation",
     "OpenCL 3.0 NEO", 24, 256, 524288, 16384, false, true, false, true, "intel",
     MemoryKind::kBuffer, Svm::kOff},
    {"intel/compute-runtime#618", "Intel(R) Arc(TM) A770 Graphics", "Intel(R) Corporation",
     "OpenCL 3.0 NEO", 512, 1, 16777216, 16384, false, true, false, false, "intel",
     MemoryKind::kBuffer, Svm::kOff},
};

OpenClFacts FactsOfGpu(const RecordedGpu& gpu) {
  OpenClFacts facts;
  facts.name = gpu.name;
  facts.vendor = gpu.vendor;
  facts.version = gpu.version;
  facts.family = FamilyOf(gpu.name, gpu.vendor, false);
  facts.compute_units = gpu.units;
  facts.max_work_group_size = gpu.group;
  facts.max_work_item_sizes = {gpu.group, gpu.group, gpu.group};
  facts.global_bytes = int64_t{4} << 30;
  facts.max_allocation_bytes = int64_t{1} << 30;
  facts.global_cache_bytes = gpu.cache_bytes;
  facts.local_bytes = 32768;
  facts.unified_memory = gpu.unified;
  facts.images = facts.half_images = true;
  facts.image2d_max_width = facts.image2d_max_height = gpu.image_side;
  facts.image1d_buffer_max_pixels = 65536;
  facts.fp16_compute = gpu.half;
  facts.svm_coarse = gpu.coarse;
  facts.svm_fine = gpu.fine;
  return facts;
}

TEST(GpuFamilies, HaveTheirMemory) {
  for (const RecordedGpu& gpu : kGpus) {
    SCOPED_TRACE(std::string(gpu.version) + " of " + gpu.source);
    OpenClFacts facts = FactsOfGpu(gpu);
    EXPECT_EQ(facts.family, gpu.family);
    auto device = OpenPaperDevice(facts).value();
    auto states = kernels::PixelStates(*device);
    ASSERT_EQ(states.size(), 4u);  // f32 and f16 in both kinds of memory
    EXPECT_EQ(states[0].memory, gpu.memory);
    EXPECT_EQ(states[1].memory, gpu.memory);
    EXPECT_EQ(UsualSharedMemory(kernels::FactsOfOpenCl(*device)), gpu.svm);
    EXPECT_EQ(device->computes_f16(), gpu.half);
  }
}

TEST(GpuFamilies, KeepHalvesInBuffersWhereImagesHaveNone) {
  for (const RecordedGpu& gpu : kGpus) {
    OpenClFacts facts = FactsOfGpu(gpu);
    facts.half_images = false;
    auto device = OpenPaperDevice(facts).value();
    int halves = 0;
    for (const State& state : kernels::PixelStates(*device)) {
      if (state.storage != DType::kF16) continue;
      EXPECT_EQ(state.memory, MemoryKind::kBuffer) << gpu.version;
      ++halves;
    }
    EXPECT_EQ(halves, 1);
  }
}

TEST(GpuFamilies, RefuseWhatTheyCannotHold) {
  for (const RecordedGpu& gpu : kGpus) {
    auto device = OpenPaperDevice(FactsOfGpu(gpu)).value();
    const MemoryRequest wide{.kind = MemoryKind::kImage2d, .width = gpu.image_side, .height = 1};
    EXPECT_TRUE(device->CheckLimits(wide).ok()) << gpu.version;
    MemoryRequest wider = wide;
    ++wider.width;
    EXPECT_EQ(device->CheckLimits(wider).code(), StatusCode::kUnsupported) << gpu.version;
    const MemoryRequest large{.kind = MemoryKind::kBuffer, .bytes = (int64_t{1} << 30) + 1};
    EXPECT_EQ(device->CheckLimits(large).code(), StatusCode::kOutOfMemory) << gpu.version;
  }
}

TEST(GpuFamilies, LaunchGroupsThatTheyTakeAndKernelsBound) {
  for (const RecordedGpu& gpu : kGpus) {
    const OpenClFacts facts = FactsOfGpu(gpu);
    for (const int64_t of_kernel : {gpu.group, int64_t{48}, int64_t{1}}) {
      const WorkGroupLimits limits = LimitsOf(facts, of_kernel);
      for (const WorkShape& gws :
           {WorkShape{12544, 16, 1}, WorkShape{49, 160, 1}, WorkShape{3, 1, 1}})
        EXPECT_TRUE(Fits(UnitLws(gws, gpu.units, limits), limits)) << gpu.version;
    }
  }
}

TEST(GpuFamilies, OnPaperAreWhatTheirFactsSay) {
  for (const RecordedGpu& gpu : kGpus) {
    auto device = OpenPaperDevice(FactsOfGpu(gpu)).value();
    const kernels::Facts facts = kernels::FactsOfOpenCl(*device);
    const auto again = kernels::OpenClOnPaper(facts);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(kernels::FactsOfOpenCl(**again), facts);
  }
}

TEST(SharedMemory, IsFineOnProcessorsAndOffOnCardsOfTheirOwn) {
  OpenClFacts facts;
  facts.svm_coarse = facts.svm_fine = true;
  facts.family = "amd";
  EXPECT_EQ(UsualSharedMemory(kernels::FactsOfOpenCl(*OpenPaperDevice(facts).value())), Svm::kOff);
  facts.is_cpu = true;
  EXPECT_EQ(UsualSharedMemory(kernels::FactsOfOpenCl(*OpenPaperDevice(facts).value())), Svm::kFine);
  EXPECT_EQ(UsualSharedMemory({}), Svm::kOff);
}

TEST(SharedMemory, HasFourNames) {
  EXPECT_EQ(SharedMemoryFromName("coarse", "cpu").value(), Svm::kCoarse);
  EXPECT_EQ(SharedMemoryFromName("auto", "cpu").value(), Svm::kOff);
  const auto wrong = SharedMemoryFromName("some", "cpu");
  EXPECT_EQ(wrong.status().message(), "svm: expected auto|off|coarse|fine, got 'some'");
}

}  // namespace
}  // namespace fettle::runtime
