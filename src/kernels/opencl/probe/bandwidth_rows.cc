// Memory of an OpenCL device as rows.
#include "kernels/opencl/probe/rows.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kSmallestBuffer = 64 << 10, kCachedBuffer = 256 << 10;
constexpr int kStepOfBuffers = 8;
constexpr int64_t kLocalBytes = 4096;
constexpr int kLocalVectors = 256;
/// Neighbouring work-items read neighbours; the next step is elsewhere also where all of a small
/// memory is read in one.
constexpr int64_t kBeside = 17 * 64;

struct Walk {
  cl_uint mask, step, steps;
};

Walk WalkOf(const OpenClPlace& place, int64_t bytes, int64_t unit_bytes, int64_t steps) {
  const auto step = place.facts().is_cpu ? 1 : static_cast<int64_t>(place.items()) + kBeside;
  return {static_cast<cl_uint>(bytes / unit_bytes - 1), static_cast<cl_uint>(step),
          static_cast<cl_uint>(steps)};
}

double Moved(const OpenClPlace& place, int64_t unit_bytes, int64_t steps) {
  return static_cast<double>(place.items()) * static_cast<double>(unit_bytes * steps);
}

Result<ProbeSample> RunRead(OpenClPlace& place, int64_t bytes, int64_t steps) {
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_read"));
  ASSIGN_OR_RETURN(const auto ones, place.ones());
  const Walk walk = WalkOf(place, bytes, place.vector_bytes(), steps);
  ArgList args;
  args.Memory(ones->location()).Memory(place.results());
  args.Value(walk.mask).Value(walk.step).Value(walk.steps);
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(place.CheckResults(
      [&](size_t) { return static_cast<double>(place.vector_bytes() / 4 * steps); }));
  return ProbeSample{Moved(place, place.vector_bytes(), steps) / ns * 1e9, ns};
}

/// Whether the first floats of `memory` are `value`.
Status CheckWritten(const OpenClPlace& place, const DeviceMemory& memory, float value) {
  float got[4];
  RETURN_IF_ERROR(place.stream().Read(got, memory, 0, sizeof(got)));
  return got[0] == value && got[3] == value ? OkStatus() : WrongResult();
}

Result<ProbeSample> RunWrite(OpenClPlace& place, int64_t bytes, int64_t steps) {
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_write"));
  ASSIGN_OR_RETURN(const auto to, place.to());
  const Walk walk = WalkOf(place, bytes, place.vector_bytes(), steps);
  const auto value = static_cast<float>(steps % 1000 + 2);
  ArgList args;
  args.Memory(to->location()).Value(value).Value(walk.mask).Value(walk.step).Value(walk.steps);
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(CheckWritten(place, *to, value));
  return ProbeSample{Moved(place, place.vector_bytes(), steps) / ns * 1e9, ns};
}

Result<ProbeSample> RunCopy(OpenClPlace& place, int64_t bytes, int64_t steps) {
  ASSIGN_OR_RETURN(const auto kernel, place.MemoryKernel("probe_copy"));
  ASSIGN_OR_RETURN(const auto ones, place.ones());
  ASSIGN_OR_RETURN(const auto to, place.to());
  const Walk walk = WalkOf(place, bytes / 2, place.vector_bytes(), steps);
  const float none[4] = {};
  RETURN_IF_ERROR(place.stream().Write(*to, 0, none, sizeof(none)));
  ArgList args;
  args.Memory(ones->location()).Memory(to->location());
  args.Value(walk.mask).Value(walk.step).Value(walk.steps);
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(CheckWritten(place, *to, 1));
  return ProbeSample{2 * Moved(place, place.vector_bytes(), steps) / ns * 1e9, ns};
}

Result<ProbeSample> RunLocal(OpenClPlace& place, int64_t, int64_t steps) {
  BuildOptions options;
  options.Define("PROCESSOR", place.facts().is_cpu).Define("LOCAL_VECTORS", kLocalVectors);
  options.Define("IMAGES", place.facts().images);
  ASSIGN_OR_RETURN(const auto kernel, place.device().BuildKernel(
                                          MakeProgram("probe/memory.cl", options), "probe_local"));
  ArgList args;
  args.Memory(place.results()).Value(static_cast<cl_uint>(steps));
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(place.CheckResults(
      [&](size_t) { return static_cast<double>(place.vector_bytes() / 4 * steps); }));
  return ProbeSample{Moved(place, place.vector_bytes(), steps) / ns * 1e9, ns};
}

/// RGBA pixels of f32, as square as powers of two allow.
constexpr int64_t kPixelBytes = 16;
int ShiftOf(int64_t bytes) {
  int shift = 0;
  while ((int64_t{1} << 2 * (shift + 1)) <= bytes / kPixelBytes) ++shift;
  return shift;
}

class ImageRead {
 public:
  ImageRead(OpenClPlace& place, int64_t bytes) : place_(place), bytes_(bytes) {}

  Result<ProbeSample> Run(int64_t steps) {
    if (image_ == nullptr) RETURN_IF_ERROR(Fill());
    ASSIGN_OR_RETURN(const auto kernel, place_.MemoryKernel("probe_image"));
    const Walk walk = WalkOf(place_, bytes_, kPixelBytes, steps);
    ArgList args;
    args.Memory(image_->location()).Memory(place_.results());
    args.Value(walk.mask).Value(walk.step).Value(walk.steps);
    args.Value(static_cast<cl_uint>(ShiftOf(bytes_)));
    ASSIGN_OR_RETURN(const double ns, place_.Ns([&] { return place_.Launch(*kernel, args); }));
    RETURN_IF_ERROR(place_.CheckResults([&](size_t) { return static_cast<double>(4 * steps); }));
    return ProbeSample{Moved(place_, kPixelBytes, steps) / ns * 1e9, ns};
  }

 private:
  Status Fill() {
    const int64_t width = int64_t{1} << ShiftOf(bytes_);
    const int64_t height = bytes_ / kPixelBytes / width;
    ASSIGN_OR_RETURN(const auto image, place_.device().Allocate({.kind = MemoryKind::kImage2d,
                                                                 .bytes = bytes_,
                                                                 .width = width,
                                                                 .height = height,
                                                                 .storage = DType::kF32}));
    const std::vector<float> ones(static_cast<size_t>(bytes_) / 4, 1.0F);
    RETURN_IF_ERROR(place_.stream().Write(*image, 0, ones.data(), bytes_));
    image_ = image;
    return OkStatus();
  }

  OpenClPlace& place_;
  int64_t bytes_;
  std::shared_ptr<DeviceMemory> image_;
};

using Run = Result<ProbeSample> (*)(OpenClPlace&, int64_t bytes, int64_t steps);

ProbeRow MemoryRow(OpenClPlace& place, std::string name, std::string row, std::string_view column,
                   int64_t bytes, Run run) {
  ProbeRow made{.name = {.name = std::move(name),
                         .unit = "B/s",
                         .group = "bandwidth",
                         .row = std::move(row),
                         .column = std::string(column)}};
  made.run = [&place, bytes, run](int64_t amount) { return run(place, bytes, amount); };
  made.most = 1 << 18;  // results stay exact in f32
  return made;
}

}  // namespace

std::vector<ProbeRow> OpenClBandwidthRows(OpenClPlace& place) {
  const struct {
    std::string_view column;
    Run run;
  } kinds[] = {{"global read", RunRead}, {"global write", RunWrite}, {"global copy", RunCopy}};
  std::vector<ProbeRow> rows;
  const int64_t large = place.large_bytes();
  rows.push_back(
      MemoryRow(place, "cached read", "the nearest cache", "global read", kCachedBuffer, RunRead));
  rows.back().for_bounds = true;
  rows.push_back(
      MemoryRow(place, "local read", "local memory", "local read", kLocalBytes, RunLocal));
  for (const auto& kind : kinds) {
    rows.push_back(MemoryRow(place, std::string(kind.column), BinarySize(large), kind.column, large,
                             kind.run));
    rows.back().for_bounds = kind.column == "global read";
  }
  for (int64_t bytes = kSmallestBuffer; bytes < large; bytes *= kStepOfBuffers) {
    for (const auto& kind : kinds) {
      rows.push_back(MemoryRow(place, fmt::format("{} {}", kind.column, BinarySize(bytes)),
                               BinarySize(bytes), kind.column, bytes, kind.run));
    }
  }
  for (int64_t bytes = kSmallestBuffer; bytes <= large; bytes *= kStepOfBuffers) {
    rows.push_back(MemoryRow(place, fmt::format("image read {}", BinarySize(bytes)),
                             BinarySize(bytes), "image read", bytes, nullptr));
    ProbeRow& row = rows.back();
    if (!place.facts().images) row.runs = Unsupported("the device has no images");
    const auto image = std::make_shared<ImageRead>(place, bytes);
    row.run = [image](int64_t steps) { return image->Run(steps); };
  }
  return rows;
}

}  // namespace fettle::kernels
