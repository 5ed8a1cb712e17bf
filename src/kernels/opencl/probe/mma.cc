#include "kernels/opencl/probe/mma.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "device/compile_elsewhere.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/probe/bit_mma.h"
#include "kernels/opencl/probe/warpgroups.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

constexpr int kWarp = 32, kEdge = 16, kResults = 25;

/// Local memory of a group on the chips that have more than they report, largest first: compute
/// capability 9.0, the largest tiles' part of that, 8.0, 8.6.
constexpr int64_t kLocalBytes[] = {227 << 10, 200 << 10, 163 << 10, 99 << 10};
/// What a driver takes of it for itself: some bytes, and what lies between those and the tiles,
/// which begin at multiples of 1024.
constexpr int64_t kDriverBytes = 1024;
/// All chips have more.
constexpr int64_t kLeastBytes = 16 << 10;

/// Small whole numbers, whose products and sums f16 and f32 hold.
int ElementOf(int row, int column, int seed) { return (row * 7 + column * 5 + seed) % 11 - 5; }

using Operand = std::array<Half, kEdge * kEdge>;

Operand MakeOperand(int seed) {
  Operand operand;
  for (int i = 0; i < kEdge * kEdge; ++i)
    operand[i] = Half(static_cast<float>(ElementOf(i / kEdge, i % kEdge, seed)));
  return operand;
}

/// What probe_mma multiplies.
struct Operands {
  Operand a = MakeOperand(1), b = MakeOperand(2);
  /// b as it is copied: its last piece of 8 bytes is zero.
  Operand copied = [] {
    Operand operand = MakeOperand(2);
    std::fill(operand.end() - 4, operand.end(), Half(0));
    return operand;
  }();

  /// The sums of the products of row `row` of a and row `column` of b, both as rows of T; of more
  /// than a byte, its lowest.
  template <typename T, typename U>
  int64_t SumOf(int row, int column) const {
    constexpr int kRowBytes = kEdge * sizeof(Half);
    const auto* rows = reinterpret_cast<const std::byte*>(a.data()) + row * kRowBytes;
    const auto* columns = reinterpret_cast<const std::byte*>(copied.data()) + column * kRowBytes;
    int64_t sum = 0;
    for (size_t at = 0; at < kRowBytes; at += sizeof(T)) {
      T left;
      U right;
      std::memcpy(&left, rows + at, sizeof(T));
      std::memcpy(&right, columns + at, sizeof(U));
      if constexpr (sizeof(T) > 1)
        sum += static_cast<int64_t>(left & 255) * (right & 255);
      else
        sum += static_cast<int64_t>(left) * right;
    }
    return sum;
  }

  /// The same of halves; `transposed`: column `column` of b.
  int64_t SumOfHalves(int row, int column, bool transposed) const {
    float sum = 0;
    for (int k = 0; k < kEdge; ++k)
      sum += static_cast<float>(a[row * kEdge + k]) *
             static_cast<float>(copied[transposed ? k * kEdge + column : column * kEdge + k]);
    return static_cast<int64_t>(sum);
  }
};

/// What probe_mma leaves for a work-item.
bool IsRight(const Operands& operands, const float* results, int item) {
  for (int i = 0; i < 4; ++i) {
    const int row = item / 4 + i / 2 * 8, column = item % 4 * 2 + i % 2;
    const int64_t expected[] = {operands.SumOfHalves(row, column + 8, false),
                                operands.SumOfHalves(row, column, true),
                                operands.SumOf<uint8_t, int8_t>(row, column + 8),
                                operands.SumOf<int8_t, int8_t>(row, column + 8),
                                operands.SumOf<uint32_t, uint32_t>(row, column + 8),
                                operands.SumOf<uint16_t, uint16_t>(row, column + 8)};
    for (int kind = 0; kind < 6; ++kind)
      if (results[kind * 4 + i] != static_cast<float>(expected[kind])) return false;
  }
  return results[kResults - 1] == 0;
}

ProgramSource ProgramOf(const OpenClDevice& device, int64_t local_bytes) {
  BuildOptions options;
  options.Define("EMULATED", device.facts().mma.emulated ? 1 : 0);
  options.Define("LOCAL_BYTES", local_bytes);
  return MakeProgram("probe/mma.cl", options);
}

/// Where other processes compile: all programs at once, beside what replays launches.
void BuildAhead(const OpenClDevice& device, bool with_warpgroups) {
  std::vector<ProgramSource> programs = {ProgramOf(device, kLeastBytes), BitMmaProbe(device),
                                         ProgramOf(device, kLocalBytes[0] - kDriverBytes)};
  if (with_warpgroups)
    for (ProgramSource& program : WarpgroupProbes(device)) programs.push_back(std::move(program));
  PrepareAhead(std::ssize(programs) + 1, [&](int64_t i) {
    if (i == 0)
      (void)device.graphs();
    else
      (void)device.programs().Get(programs[i - 1]);
  });
}

/// Whether the program works with so much local memory.
Result<bool> Works(const OpenClDevice& device, int64_t local_bytes) {
  const auto kernel = device.BuildKernel(ProgramOf(device, local_bytes), "probe_mma");
  if (!kernel.ok()) return false;
  const Operands operands;
  std::array<float, kWarp * kResults> results{};
  ASSIGN_OR_RETURN(const auto stream, device.NewStream({}));
  ArgList args;
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  for (const int64_t bytes : {sizeof(Operand), sizeof(Operand), sizeof(results)}) {
    ASSIGN_OR_RETURN(auto made, device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    args.Memory(made->location());
    memory.push_back(std::move(made));
  }
  RETURN_IF_ERROR(stream->Write(*memory[0], 0, operands.a.data(), sizeof(Operand)));
  RETURN_IF_ERROR(stream->Write(*memory[1], 0, operands.b.data(), sizeof(Operand)));
  RETURN_IF_ERROR(static_cast<OpenClStream&>(*stream).Launch(
      **kernel, {.gws = {kWarp, 1, 1}, .lws = {kWarp, 1, 1}}, args.args()));
  RETURN_IF_ERROR(stream->Read(results.data(), *memory[2], 0, sizeof(results)));
  for (int item = 0; item < kWarp; ++item)
    if (!IsRight(operands, results.data() + item * kResults, item)) return false;
  return true;
}

}  // namespace

Result<MmaFacts> ProbeMma(const OpenClDevice& device, bool with_warpgroups) {
  MmaFacts facts = device.facts().mma;
  facts.local_bytes = device.facts().local_bytes;
  // Compilers that know no PTX are not asked: some end the process over it.
  const bool may_take_ptx = device.facts().HasExtension("cl_nv_device_attribute_query");
  if (!facts.emulated && !may_take_ptx) return facts;
  BuildAhead(device, with_warpgroups);
  ASSIGN_OR_RETURN(facts.available, Works(device, kLeastBytes));
  if (!facts.available) return facts;
  ASSIGN_OR_RETURN(facts.bits, ProbeBitMma(device));
  if (with_warpgroups) {
    RETURN_IF_ERROR(ProbeWarpgroups(device, facts));
  }
  if (facts.emulated) return facts;
  for (const int64_t bytes : kLocalBytes) {
    if (bytes <= facts.local_bytes) break;
    ASSIGN_OR_RETURN(const bool works, Works(device, bytes - kDriverBytes));
    if (!works) continue;
    facts.local_bytes = bytes - kDriverBytes;
    break;
  }
  Log(LogLevel::kInfo, "'{}' has matrix instructions{}, with {} bytes of local memory",
      device.name(), facts.warpgroups ? " of warps and of warpgroups" : "", facts.local_bytes);
  return facts;
}

}  // namespace fettle::kernels
