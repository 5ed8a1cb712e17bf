// What memory holds that nobody has written, in builds for tests (FETTLE_MARK_MEMORY): a fill that
// stands out, and poison under AddressSanitizer. Other builds compile functions that do nothing:
// memory_marks_off.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::marks {

/// Whether this build marks memory.
bool On();

/// Bytes between blocks of one arena, beside those that may be read behind each: nobody's under
/// AddressSanitizer, 0 in builds that mark nothing.
int64_t RedZone();

/// `bytes` at `memory` now belong to an owner that has not written them. They hold the fill, 0xff
/// (NaN in every float type) or FETTLE_MEMORY_FILL in two hexadecimal digits. A result that changes
/// with the fill depends on memory that nobody wrote.
void Fresh(void* memory, int64_t bytes);

/// `bytes` at `memory`, which starts at a multiple of 8, belong to nobody until they are Fresh
/// again. Under AddressSanitizer reading or writing them ends the program; otherwise they hold the
/// fill.
void Dead(void* memory, int64_t bytes);

/// They may be read and written again, as before a block goes back to the heap.
void Alive(void* memory, int64_t bytes);

}  // namespace fettle::marks
