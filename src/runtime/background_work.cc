#include "runtime/background_work.h"

#include <iterator>

namespace fettle::runtime {

std::string_view StageName(BackgroundState::Stage stage) {
  constexpr std::string_view kNames[] = {"none",         "waiting",  "measuring", "verifying",
                                         "handing-over", "tuned",    "kept",      "refused",
                                         "failed",       "cancelled"};
  return kNames[static_cast<int>(stage)];
}

}  // namespace fettle::runtime
