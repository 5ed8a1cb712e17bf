// How much of the processor this program gets now.
#pragma once

namespace fettle::enhance {

/// Threads that can run at once: `threads`, at most one for each core.
int ThreadsAtOnce(int threads);

/// The share of its cores' time that so many threads get, 0 to 1, as other programs leave it: they
/// work for some hundredths of a second.
double ProcessorShare(int threads);

}  // namespace fettle::enhance
