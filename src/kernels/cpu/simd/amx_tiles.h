// The tile registers of Intel AMX, configured on one thread for as long as a scope lasts.
#pragma once

#include <array>
#include <cstdint>

namespace fettle::kernels {

inline constexpr int kTileRegisters = 8;
/// What a tile register holds at most.
inline constexpr int kMostTileRows = 16, kMostTileBytes = 64;

struct AmxTileShape {
  uint8_t rows = kMostTileRows;
  uint16_t bytes = kMostTileBytes;  // of a row
};

/// Four tiles of sums (0 to 3) and two of rows (4, 5), `tile_rows` high, beside two of columns
/// (6, 7), which hold as much as a tile can.
std::array<AmxTileShape, kTileRegisters> BlockTiles(int tile_rows);

/// Configures the calling thread's tiles, and releases them: a thread that holds none is cheap to
/// switch. Both take some 0.2 us together: once a task, not once a tile. Only where GetAmxSets()
/// has one; not nested.
class AmxTiles {
 public:
  explicit AmxTiles(const std::array<AmxTileShape, kTileRegisters>& shapes);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
};

}  // namespace fettle::kernels
