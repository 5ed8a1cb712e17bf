#include "kernels/cpu/simd/amx_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

/// The operand of LDTILECFG (Intel SDM, palette 1).
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace

AmxTiles::AmxTiles(const std::array<AmxTileShape, kTileRegisters>& shapes) {
  TileConfig config;
  for (int i = 0; i < kTileRegisters; ++i) {
    config.bytes[i] = shapes[i].bytes;
    config.rows[i] = shapes[i].rows;
  }
  // The intrinsic tells GCC 12 of the first 8 bytes alone.
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

AmxTiles::~AmxTiles() { _tile_release(); }

std::array<AmxTileShape, kTileRegisters> BlockTiles(int tile_rows) {
  std::array<AmxTileShape, kTileRegisters> shapes;
  for (int i = 0; i < 6; ++i) shapes[i].rows = static_cast<uint8_t>(tile_rows);
  return shapes;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
AmxTiles::AmxTiles(const std::array<AmxTileShape, kTileRegisters>&) {}
AmxTiles::~AmxTiles() = default;
std::array<AmxTileShape, kTileRegisters> BlockTiles(int) { return {}; }
}  // namespace fettle::kernels
#endif
