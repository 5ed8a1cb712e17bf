// Learns from the rows of a database how long kernels take on devices that nobody has measured on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/predict/time_model.h"
#include "tuner/store/database.h"

namespace fettle::tuner {

/// Of one device: how many of its rows were learned from, and how well the model of all other
/// devices predicts them.
struct TrainedDevice {
  std::string fingerprint;
  int64_t rows = 0;
  /// Why nothing was learned from it; empty: it was.
  std::string refused;
  /// Rows that the others predict; 0 where it is the only one of its kind.
  int64_t predicted = 0;
  /// The median of predicted over measured, the median distance from 1 of the two (as a factor),
  /// and the share of rows within a quarter.
  double bias = 1, error = 1, within = 0;
};

struct TimeTraining {
  TimeModel model;
  std::vector<TrainedDevice> devices;
  int64_t rows = 0;     // times in the database
  int64_t used = 0;     // that the model is made of: the best set of parameters of each problem
  int64_t refused = 0;  // of kernels that this build has not, or no problems
};

/// Reads everything. A row whose text cannot be read is counted, and so is a device without
/// ceilings; kNotFound where nothing is left.
Result<TimeTraining> TrainTimes(Database& database);

}  // namespace fettle::tuner
