#include "kernels/opencl/probe/warpgroups.h"

#include <cstring>

#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

constexpr int kTileItems = 128, kItemSums = 32, kTileEdge = 64, kTileRowBytes = 128;

/// Small whole numbers, whose products and sums all types hold.
int TileElement(int row, int column) { return (row * 7 + column * 5) % 11; }

/// What the factors are, as FACTORS of gemm/warp_tiles.clh; b is i8 beside bytes of both kinds.
enum class TileFactors : uint8_t {
  kHalves = 0,
  kBytes = 1,
  kSignedBytes = 2,
  kFloats = 3,
  kBFloats = 4
};

/// An operand: 64 rows of T.
template <typename T>
std::vector<std::byte> MakeTileRows(int subtracted) {
  std::vector<std::byte> rows(kTileEdge * kTileRowBytes);
  const int columns = kTileRowBytes / static_cast<int>(sizeof(T));
  for (int i = 0; i < kTileEdge * columns; ++i) {
    const auto element = T(static_cast<float>(TileElement(i / columns, i % columns) - subtracted));
    std::memcpy(rows.data() + i * sizeof(T), &element, sizeof(T));
  }
  return rows;
}

/// Sum (row, column) of `steps` steps of k: of 64, f16 and bf16, b lies by k.
int TileSum(int row, int column, int steps) {
  const bool is_by_k = steps == kTileEdge;
  int sum = 0;
  for (int k = 0; k < steps; ++k)
    sum += TileElement(row, k) * ((is_by_k ? TileElement(k, column) : TileElement(column, k)) - 5);
  return sum;
}

bool TileIsRight(const std::vector<float>& results, int steps) {
  for (int i = 0; i < kTileItems * kItemSums; ++i) {
    const int item = i / kItemSums, piece = i % kItemSums / 4, r = i % 4;
    const int row = item / 32 * 16 + item % 32 / 4 + r / 2 * 8;
    const int column = piece * 8 + item % 4 * 2 + r % 2;
    if (results[static_cast<size_t>(i)] != static_cast<float>(TileSum(row, column, steps)))
      return false;
  }
  return true;
}

ProgramSource ProgramOf(const OpenClDevice& device, TileFactors factors) {
  BuildOptions options;
  options.Define("EMULATED", device.facts().mma.emulated ? 1 : 0);
  options.Define("FACTORS", static_cast<int64_t>(factors));
  return MakeProgram("probe/warpgroups.cl", options);
}

Result<bool> WarpgroupsWork(const OpenClDevice& device, TileFactors factors) {
  const bool is_bytes = factors == TileFactors::kBytes || factors == TileFactors::kSignedBytes;
  const auto kernel = device.BuildKernel(ProgramOf(device, factors), "probe_warpgroups");
  if (!kernel.ok()) return false;
  const auto make = [&](int subtracted) {
    return is_bytes                           ? MakeTileRows<int8_t>(subtracted)
           : factors == TileFactors::kFloats  ? MakeTileRows<float>(subtracted)
           : factors == TileFactors::kBFloats ? MakeTileRows<BFloat16>(subtracted)
                                              : MakeTileRows<Half>(subtracted);
  };
  const std::vector<std::byte> operands[] = {make(0), make(5)};
  std::vector<float> results(kTileItems * kItemSums);
  ASSIGN_OR_RETURN(const auto stream, device.NewStream({}));
  ArgList args;
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  const auto result_bytes = static_cast<int64_t>(results.size() * sizeof(float));
  for (const int64_t bytes :
       {int64_t{kTileEdge * kTileRowBytes}, int64_t{kTileEdge * kTileRowBytes}, result_bytes}) {
    ASSIGN_OR_RETURN(auto made, device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    args.Memory(made->location());
    memory.push_back(std::move(made));
  }
  for (size_t i = 0; i < 2; ++i)
    RETURN_IF_ERROR(stream->Write(*memory[i], 0, operands[i].data(), kTileEdge * kTileRowBytes));
  RETURN_IF_ERROR(static_cast<OpenClStream&>(*stream).Launch(
      **kernel, {.gws = {kTileItems, 1, 1}, .lws = {kTileItems, 1, 1}}, args.args()));
  RETURN_IF_ERROR(stream->Read(results.data(), *memory[2], 0, result_bytes));
  const bool is_float = factors == TileFactors::kFloats;
  return TileIsRight(results, is_bytes ? kTileRowBytes : is_float ? kTileRowBytes / 4 : kTileEdge);
}

}  // namespace

std::vector<ProgramSource> WarpgroupProbes(const OpenClDevice& device) {
  std::vector<ProgramSource> programs;
  for (const TileFactors factors :
       {TileFactors::kHalves, TileFactors::kBFloats, TileFactors::kFloats, TileFactors::kBytes,
        TileFactors::kSignedBytes})
    programs.push_back(ProgramOf(device, factors));
  return programs;
}

Status ProbeWarpgroups(const OpenClDevice& device, MmaFacts& facts) {
  ASSIGN_OR_RETURN(const bool halves, WarpgroupsWork(device, TileFactors::kHalves));
  if (!halves) return OkStatus();
  ASSIGN_OR_RETURN(facts.warpgroups, WarpgroupsWork(device, TileFactors::kBFloats));
  ASSIGN_OR_RETURN(facts.float_warpgroups, WarpgroupsWork(device, TileFactors::kFloats));
  ASSIGN_OR_RETURN(const bool bytes, WarpgroupsWork(device, TileFactors::kBytes));
  ASSIGN_OR_RETURN(const bool signed_bytes, WarpgroupsWork(device, TileFactors::kSignedBytes));
  facts.byte_warpgroups = bytes && signed_bytes;
  return OkStatus();
}

}  // namespace fettle::kernels
