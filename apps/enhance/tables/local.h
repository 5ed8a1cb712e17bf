// Frames through tables.
#pragma once

#include <vector>

#include "tables/light.h"
#include "tables/rows.h"
#include "tables/sums.h"
#include "tables/tables.h"

namespace fettle::enhance {

/// Reads frames of planar YUV, writes others. What the tables say at the nodes of a frame's light
/// is interpolated between them. Keeps memory between calls: one for each thread.
class LocalTables {
 public:
  /// `to` is of the same size, and of the same depth or, for 8 bits, of 10. With `dither` a pattern
  /// of 8x8 decides what fraction of a level is rounded up. Alpha is copied.
  void Run(const Tables& tables, const AVFrame& from, const AVFrame& to, bool dither);

 private:
  void PlaceNodes(const Tables& tables, const Plane& luma);
  static void SumsOfRow(const Plane& from, int y, int distance, uint16_t* sums);
  template <typename Sample>
  void LumaOfBytes(const Tables& tables, const Plane& from, const Plane& to, bool dither);
  template <typename Sample>
  void Deep(const Tables& tables, const Plane& from, const Plane& to);
  void Chroma(const AVFrame& from, const AVFrame& to);

  LightGrid light_;
  std::vector<Node> nodes_;
  std::vector<uint16_t> chroma_;  // factors at the nodes, in 1/kChromaUnit
  std::vector<ChromaFactor> factors_;
  std::vector<RowNode> row_;
  std::vector<uint16_t> sums_;
};

}  // namespace fettle::enhance
