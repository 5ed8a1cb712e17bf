#include "kernels/opencl/probe/mma.h"

#include <array>

#include "base/log.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

constexpr int kWarp = 32, kEdge = 16, kResults = 9;

/// Local memory of a group on the chips that have more than they report, largest first: compute
/// capability 9.0, 8.0, 8.6.
constexpr int64_t kLocalBytes[] = {227 << 10, 163 << 10, 99 << 10};
/// What a driver takes of it for itself.
constexpr int64_t kDriverBytes = 64;

/// Small whole numbers, whose products and sums f16 and f32 hold.
int ElementOf(int row, int column, int seed) { return (row * 7 + column * 5 + seed) % 11 - 5; }

using Operand = std::array<Half, kEdge * kEdge>;

Operand MakeOperand(int seed) {
  Operand operand;
  for (int i = 0; i < kEdge * kEdge; ++i)
    operand[i] = Half(static_cast<float>(ElementOf(i / kEdge, i % kEdge, seed)));
  return operand;
}

/// Element [row][column] of `b` as the program copies it.
int CopiedOf(int row, int column) {
  return row == kEdge - 1 && column >= 12 ? 0 : ElementOf(row, column, 2);
}

/// What probe_mma leaves for a work-item.
bool IsRight(const float* results, int item) {
  for (int i = 0; i < 4; ++i) {
    const int row = item / 4 + i / 2 * 8, column = item % 4 * 2 + i % 2;
    int plain = 0, transposed = 0;
    for (int k = 0; k < kEdge; ++k) {
      plain += ElementOf(row, k, 1) * CopiedOf(column + 8, k);
      transposed += ElementOf(row, k, 1) * CopiedOf(k, column);
    }
    if (results[i] != static_cast<float>(plain)) return false;
    if (results[4 + i] != static_cast<float>(transposed)) return false;
  }
  return results[8] == 0;
}

/// Whether the program works with so much local memory.
Result<bool> Works(const OpenClDevice& device, int64_t local_bytes) {
  BuildOptions options;
  options.Define("EMULATED", device.facts().mma.emulated ? 1 : 0);
  options.Define("LOCAL_BYTES", local_bytes);
  const auto kernel = device.BuildKernel(MakeProgram("probe/mma.cl", options), "probe_mma");
  if (!kernel.ok()) return false;
  const std::array<Operand, 2> operands = {MakeOperand(1), MakeOperand(2)};
  std::array<float, kWarp * kResults> results{};
  ASSIGN_OR_RETURN(const auto stream, device.NewStream({}));
  ArgList args;
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  for (const int64_t bytes : {sizeof(Operand), sizeof(Operand), sizeof(results)}) {
    ASSIGN_OR_RETURN(auto made, device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    args.Memory(made->location());
    memory.push_back(std::move(made));
  }
  for (size_t i = 0; i < 2; ++i)
    RETURN_IF_ERROR(stream->Write(*memory[i], 0, operands[i].data(), sizeof(Operand)));
  RETURN_IF_ERROR(static_cast<OpenClStream&>(*stream).Launch(
      **kernel, {.gws = {kWarp, 1, 1}, .lws = {kWarp, 1, 1}}, args.args()));
  RETURN_IF_ERROR(stream->Read(results.data(), *memory[2], 0, sizeof(results)));
  for (int item = 0; item < kWarp; ++item)
    if (!IsRight(results.data() + item * kResults, item)) return false;
  return true;
}

}  // namespace

Result<MmaFacts> ProbeMma(const OpenClDevice& device) {
  MmaFacts facts = device.facts().mma;
  facts.local_bytes = device.facts().local_bytes;
  // Compilers that know no PTX are not asked: some end the process over it.
  const bool may_take_ptx = device.facts().HasExtension("cl_nv_device_attribute_query");
  if (!facts.emulated && !may_take_ptx) return facts;
  constexpr int64_t kLeastBytes = 16 << 10;
  ASSIGN_OR_RETURN(facts.available, Works(device, kLeastBytes));
  if (!facts.available || facts.emulated) return facts;
  for (const int64_t bytes : kLocalBytes) {
    if (bytes <= facts.local_bytes) break;
    ASSIGN_OR_RETURN(const bool works, Works(device, bytes - kDriverBytes));
    if (!works) continue;
    facts.local_bytes = bytes - kDriverBytes;
    break;
  }
  Log(LogLevel::kInfo, "'{}' multiplies matrices by instructions, with {} bytes of local memory",
      device.name(), facts.local_bytes);
  return facts;
}

}  // namespace fettle::kernels
