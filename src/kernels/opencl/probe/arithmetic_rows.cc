// Arithmetic of an OpenCL device as rows.
#include "kernels/opencl/probe/rows.h"

namespace fettle::kernels {
namespace {

constexpr int kChains = 8, kBytesOfDot = 4;
/// Sums of products stay below 2^31, those of matrices exact in f32.
constexpr int64_t kMostRounds = 1 << 19;

/// A type that vectors of 1 to 16 lanes are made of.
struct ElementType {
  std::string_view ceiling, unit, name;  // "fp32 fma", "FLOP/s", "float"
  bool is_int = false, fused = false, dot = false;
  std::string_view extension = {};  // that it needs; "" none
  std::vector<int> widths = {1, 2, 4, 8, 16};
};

const std::vector<ElementType>& ElementTypes() {
  static const std::vector<ElementType> types = {
      {.ceiling = "fp32 fma", .unit = "FLOP/s", .name = "float"},
      {.ceiling = "fp16 fma", .unit = "FLOP/s", .name = "half", .extension = "cl_khr_fp16"},
      {.ceiling = "fp64 fma",
       .unit = "FLOP/s",
       .name = "double",
       .fused = true,
       .extension = "cl_khr_fp64",
       .widths = {1, 4}},
      {.ceiling = "int32 mad", .unit = "OP/s", .name = "int", .is_int = true, .widths = {1, 4}},
      {.ceiling = "int8 dot",
       .unit = "OP/s",
       .name = "int",
       .is_int = true,
       .dot = true,
       .extension = "cl_khr_integer_dot_product",
       .widths = {1}}};
  return types;
}

/// The sum of the chains of a work-item, all lanes.
int64_t ExpectedSum(const ElementType& type, size_t item, int width, int64_t rounds) {
  int64_t sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    const int64_t start = static_cast<int64_t>(item % 4) + chain;
    sum += type.dot ? start + kBytesOfDot * rounds : rounds % 2 == 1 ? 1 - start : start;
  }
  return type.is_int ? sum * width & 0xffff : sum * width;
}

Result<ProbeSample> RunChains(const OpenClPlace& place, const ElementType& type, int width,
                              int64_t rounds) {
  rounds |= 1;
  BuildOptions options;
  options.Add(fmt::format("-DELEMENT={}", type.name));
  options.Define("IS_INT", type.is_int).Define("DOT", type.dot);
  // On processors that is the one instruction for it.
  options.Define("FUSED", type.fused || place.facts().is_cpu);
  ASSIGN_OR_RETURN(const auto kernel,
                   place.device().BuildKernel(MakeProgram("probe/arithmetic.cl", options),
                                              fmt::format("probe_x{}", width)));
  ArgList args;
  args.Memory(place.results()).Value(cl_int{-1}).Value(cl_int{1}).Value(cl_uint{0x01010101});
  args.Value(static_cast<cl_int>(rounds));
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(
      place.CheckResults([&](size_t item) { return ExpectedSum(type, item, width, rounds); }));
  const double each = 2.0 * kChains * width * (type.dot ? kBytesOfDot : 1);
  return ProbeSample{
      each * static_cast<double>(rounds) * static_cast<double>(place.items()) / ns * 1e9, ns};
}

/// What kernels compute with: "fp32 fma" is the best of what a device of that kind has.
int UsualWidth(const OpenClFacts& facts) { return facts.is_cpu ? 16 : 4; }

Status HasType(const OpenClFacts& facts, const ElementType& type) {
  if (type.extension.empty() || facts.HasExtension(type.extension)) return OkStatus();
  return Unsupported("the device has no {}", type.extension);
}

ProbeRow TypeRow(OpenClPlace& place, const ElementType& type, int width) {
  const bool usual = type.ceiling == "fp32 fma" && width == UsualWidth(place.facts());
  const bool only = type.widths.size() == 1;
  ProbeRow row{.name = {.name = usual || only ? std::string(type.ceiling)
                                              : fmt::format("{} x{}", type.ceiling, width),
                        .unit = type.unit,
                        .group = "arithmetic",
                        .row = std::string(type.ceiling),
                        .column = fmt::format("x{}", width)},
               .for_bounds = usual,
               .runs = HasType(place.facts(), type)};
  row.run = [&place, &type, width](int64_t amount) {
    return RunChains(place, type, width, amount * 16);
  };
  row.most = kMostRounds / 16;
  return row;
}

constexpr int kSums = 8, kTileRows = 16, kTileColumns = 8, kWarp = 32;

/// What matrix instructions multiply.
struct MmaFactorType {
  std::string_view ceiling, unit;
  int factors = 0;    // FACTORS of the program
  uint32_t ones = 0;  // a word of them
  int depth = 0;      // steps of k of an instruction
};

constexpr MmaFactorType kMmaFactorTypes[] = {
    {.ceiling = "f16 mma", .unit = "FLOP/s", .factors = 0, .ones = 0x3c003c00, .depth = 16},
    {.ceiling = "tf32 mma", .unit = "FLOP/s", .factors = 1, .ones = 0x3f800000, .depth = 8},
    {.ceiling = "int8 mma", .unit = "OP/s", .factors = 2, .ones = 0x01010101, .depth = 32}};

Result<ProbeSample> RunMma(const OpenClPlace& place, const MmaFactorType& type, int64_t rounds) {
  BuildOptions options;
  options.Define("EMULATED", place.facts().mma.emulated ? 1 : 0).Define("FACTORS", type.factors);
  ASSIGN_OR_RETURN(
      const auto kernel,
      place.device().BuildKernel(MakeProgram("probe/mma_rate.cl", options), "probe_mma_rate"));
  ArgList args;
  args.Memory(place.results()).Value(cl_uint{type.ones}).Value(static_cast<cl_int>(rounds));
  ASSIGN_OR_RETURN(const double ns, place.Ns([&] { return place.Launch(*kernel, args); }));
  RETURN_IF_ERROR(place.CheckResults(
      [&](size_t) { return static_cast<double>(kSums * 4 * type.depth * rounds); }));
  const auto warps = static_cast<double>(place.items() / kWarp);
  const double operations =
      warps * 2 * kSums * kTileRows * kTileColumns * type.depth * static_cast<double>(rounds);
  return ProbeSample{operations / ns * 1e9, ns};
}

ProbeRow MmaRow(OpenClPlace& place, const MmaFactorType& type) {
  ProbeRow row{.name = {.name = std::string(type.ceiling),
                        .unit = type.unit,
                        .group = "arithmetic",
                        .row = std::string(type.ceiling),
                        .column = "x1"}};
  if (!place.facts().mma.available)
    row.runs = Unsupported("the device has no matrix instructions that OpenCL can use");
  row.run = [&place, &type](int64_t amount) { return RunMma(place, type, amount); };
  row.most = kMostRounds;
  return row;
}

}  // namespace

std::vector<ProbeRow> OpenClArithmeticRows(OpenClPlace& place) {
  std::vector<ProbeRow> rows;
  for (const ElementType& type : ElementTypes())
    for (const int width : type.widths) rows.push_back(TypeRow(place, type, width));
  for (const MmaFactorType& type : kMmaFactorTypes) rows.push_back(MmaRow(place, type));
  return rows;
}

}  // namespace fettle::kernels
