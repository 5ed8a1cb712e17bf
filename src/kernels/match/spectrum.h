// Transforms between signals and spectra: what DFT and STFT ask for, whatever computes them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// Where the signals, or the spectra, of all transforms lie: in elements, real and imaginary parts
/// side by side.
struct SignalPlaces {
  int64_t outer = 0, inner = 0;  // from one transform to the next: t = outer index * inners + inner
  int64_t step = 1;              // from one number to the next
};

/// Transforms of one length.
struct SpectrumFacts {
  int64_t length = 1;   // of a transform
  int64_t samples = 1;  // numbers that are read; the others are zero
  int64_t bins = 1;     // numbers that are written
  int64_t transforms = 0, inners = 1;
  SignalPlaces x, y;
  bool complex = false;   // the input
  bool inverse = false;   // with a factor 1 / length
  bool mirrored = false;  // the input is half of a spectrum, the output real
};

/// Of a group of one DFT or STFT. Fails with kUnsupported on others, and where lengths, axes or
/// steps are not constant.
Result<SpectrumFacts> ReadSpectrum(const ir::Graph& group);

}  // namespace fettle::kernels
