// How much of the processor this program gets at present.
#pragma once

namespace fettle::enhance {

/// Threads that can run at once: `threads`, at most one for each core.
int ThreadsAtOnce(int threads);

/// The share of its cores' time, 0 to 1, that this many threads get beside other programs. Measured
/// by working for some hundredths of a second.
double ProcessorShare(int threads);

}  // namespace fettle::enhance
