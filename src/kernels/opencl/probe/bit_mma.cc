#include "kernels/opencl/probe/bit_mma.h"

#include <array>
#include <bit>

#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

constexpr int kItems = 32, kRows = 16, kWords = 4, kCounts = 8;
using BitRows = std::array<uint64_t, kRows * kWords>;

/// About half of the bits, and other ones in each word.
BitRows MakeBitRows(uint64_t seed) {
  BitRows rows;
  for (uint64_t& word : rows) word = seed = seed * 6364136223846793005U + 1442695040888963407U;
  return rows;
}

int PairsOf(const BitRows& a, int row, const BitRows& b, int column) {
  int pairs = 0;
  for (int i = 0; i < kWords; ++i)
    pairs += std::popcount(a[row * kWords + i] & b[column * kWords + i]);
  return pairs;
}

}  // namespace

ProgramSource BitMmaProbe(const OpenClDevice& device) {
  BuildOptions options;
  options.Define("EMULATED", device.facts().mma.emulated ? 1 : 0);
  return MakeProgram("probe/bit_mma.cl", options);
}

Result<bool> ProbeBitMma(const OpenClDevice& device) {
  const auto kernel = device.BuildKernel(BitMmaProbe(device), "probe_bit_mma");
  if (!kernel.ok()) return false;
  const std::array<BitRows, 2> operands = {MakeBitRows(1), MakeBitRows(2)};
  std::array<int32_t, kItems * kCounts> counts{};
  ASSIGN_OR_RETURN(const auto stream, device.NewStream({}));
  ArgList args;
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  for (const int64_t bytes : {sizeof(BitRows), sizeof(BitRows), sizeof(counts)}) {
    ASSIGN_OR_RETURN(auto made, device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    args.Memory(made->location());
    memory.push_back(std::move(made));
  }
  for (size_t i = 0; i < 2; ++i)
    RETURN_IF_ERROR(stream->Write(*memory[i], 0, operands[i].data(), sizeof(BitRows)));
  RETURN_IF_ERROR(static_cast<OpenClStream&>(*stream).Launch(
      **kernel, {.gws = {kItems, 1, 1}, .lws = {kItems, 1, 1}}, args.args()));
  RETURN_IF_ERROR(stream->Read(counts.data(), *memory[2], 0, sizeof(counts)));
  for (int i = 0; i < kItems * kCounts; ++i) {
    const int item = i / kCounts, of = i % kCounts;
    const int row = item / 4 + of / 2 % 2 * 8, column = item % 4 * 2 + of % 2 + of / 4 * 8;
    if (counts[i] != PairsOf(operands[0], row, operands[1], column)) return false;
  }
  return true;
}

}  // namespace fettle::kernels
