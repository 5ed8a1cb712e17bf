// Products of tiles: four sums, as products of bytes and of bf16 have them.
#include "kernels/cpu/probe/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/simd/amx_tiles.h"
#endif

namespace fettle::kernels {

#if defined(__x86_64__)
namespace {

constexpr int kRowBytes = 64, kTileBytes = 16 * kRowBytes;

template <typename T>
using Tile = std::array<T, kTileBytes / sizeof(T)>;

/// The intrinsics of GCC 12 do not say that they read and write memory.
void Touch(const void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

/// Sums 0 to 3 are zero, the factors (4 to 7) all `one`.
template <typename T>
void LoadFactors(T one) {
  alignas(64) Tile<T> ones;
  ones.fill(one);
  Touch(ones.data());
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones.data(), kRowBytes);
  _tile_loadd(5, ones.data(), kRowBytes);
  _tile_loadd(6, ones.data(), kRowBytes);
  _tile_loadd(7, ones.data(), kRowBytes);
}

template <typename T>
bool AllAre(const Tile<T>& tile, T value) {
  Touch(tile.data());
  return std::all_of(tile.begin(), tile.end(), [&](T x) { return x == value; });
}

/// 64 more in each sum of bytes, 32 in each of bf16: both exact.
int64_t IndependentInt8(int64_t rounds) {
  const AmxTiles tiles({});
  LoadFactors<uint8_t>(1);
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  alignas(64) Tile<int32_t> sums[2];
  _tile_stored(0, sums[0].data(), kRowBytes);
  _tile_stored(3, sums[1].data(), kRowBytes);
  const auto end = static_cast<int32_t>(64 * rounds);
  return AllAre(sums[0], end) && AllAre(sums[1], end) ? 4 * rounds : 0;
}

int64_t DependentInt8(int64_t rounds) {
  const AmxTiles tiles({});
  LoadFactors<uint8_t>(1);
  for (int64_t r = 0; r < rounds; ++r) _tile_dpbusd(0, 4, 6);
  alignas(64) Tile<int32_t> sums;
  _tile_stored(0, sums.data(), kRowBytes);
  return AllAre(sums, static_cast<int32_t>(64 * rounds)) ? rounds : 0;
}

int64_t IndependentBf16Tiles(int64_t rounds) {
  const AmxTiles tiles({});
  LoadFactors<uint16_t>(0x3f80);
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) Tile<float> sums[2];
  _tile_stored(0, sums[0].data(), kRowBytes);
  _tile_stored(3, sums[1].data(), kRowBytes);
  const auto end = static_cast<float>(32 * rounds);
  return AllAre(sums[0], end) && AllAre(sums[1], end) ? 4 * rounds : 0;
}

int64_t DependentBf16Tiles(int64_t rounds) {
  const AmxTiles tiles({});
  LoadFactors<uint16_t>(0x3f80);
  for (int64_t r = 0; r < rounds; ++r) _tile_dpbf16ps(0, 4, 6);
  alignas(64) Tile<float> sums;
  _tile_stored(0, sums.data(), kRowBytes);
  return AllAre(sums, static_cast<float>(32 * rounds)) ? rounds : 0;
}

/// Of 1 KiB of the nearest cache.
int64_t LoadTiles(int64_t rounds) {
  const AmxTiles tiles({});
  alignas(64) Tile<int32_t> from, to{};
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int32_t>(i);
  Touch(from.data());
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_loadd(0, from.data(), kRowBytes);
    _tile_loadd(1, from.data(), kRowBytes);
    _tile_loadd(2, from.data(), kRowBytes);
    _tile_loadd(3, from.data(), kRowBytes);
  }
  _tile_stored(3, to.data(), kRowBytes);
  Touch(to.data());
  return from == to ? 4 * rounds : 0;
}

constexpr RegisterLoop kLoops[] = {
    {.instruction = "tile dot u8",
     .isa = "amx",
     .independent = IndependentInt8,
     .dependent = DependentInt8,
     .ceiling = "int8 dot",
     .operations = 2 * 16 * 16 * 64},
    {.instruction = "tile dot bf16",
     .isa = "amx",
     .independent = IndependentBf16Tiles,
     .dependent = DependentBf16Tiles,
     .ceiling = "bf16 dot",
     .operations = 2 * 16 * 16 * 32},
    {.instruction = "tile load", .isa = "amx", .independent = LoadTiles}};

}  // namespace

std::span<const RegisterLoop> LoopsAmx() { return kLoops; }
#else
std::span<const RegisterLoop> LoopsAmx() { return {}; }
#endif

}  // namespace fettle::kernels
