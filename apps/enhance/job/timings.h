// What was timed once, kept as JSON in the user's cache folder.
#pragma once

#include <functional>
#include <string>

namespace fettle::enhance {

/// The number that is kept under `what` for this processor and this version, else what `measure`
/// gives, which is kept. Where there is no cache folder, or it cannot be written, nothing is kept.
double KeptOr(const std::string& what, const std::function<double()>& measure);

}  // namespace fettle::enhance
