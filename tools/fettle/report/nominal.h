// What makers say of GPUs, to be shown beside what was measured. Nothing is chosen by it.
#pragma once

#include <string_view>

namespace fettle::tools {

/// The maker's figure for a ceiling of the device of that name, in the ceiling's unit; 0 where the
/// device or the figure is not known.
double NominalValue(std::string_view device, std::string_view ceiling);

}  // namespace fettle::tools
