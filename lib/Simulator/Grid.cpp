//===- Grid.cpp - launch checks and worker threads --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workers take clusters in launch order. A worker whose clusters all wait takes
// one more, up to `resident`: so kernels in which clusters wait for later ones
// run, as they do on a machine with many SMs. If every worker is idle and
// nothing changes any more, that is a deadlock.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "Races.h"
#include "TensorMemory.h"

#include "llvm/Support/MathExtras.h"

#include <chrono>
#include <thread>

using namespace llvm;
using namespace fa4::sim;

/// CUDA programming guide, compute capabilities 9.0 and 10.0: limits per CTA.
static constexpr uint32_t maxThreads = 1024;
static constexpr uint32_t registersPerSm = 65536;
static constexpr uint32_t maxRegisters = 255;
/// Opt-in limit of CTAs per cluster (8 is the portable one).
static constexpr uint64_t maxCluster = 16;
/// Per cluster; FlashAttention-4's forward kernel takes about 10 MB.
static constexpr uint64_t maxHostBytes = uint64_t(1) << 32;
/// Measured on an H200 (simulator-facts 4.2): 227 KB usable per CTA.
static constexpr uint64_t maxShared = 232448;

Grid::Grid(const Kernel &kernel, const Launch &launch, GlobalMemory &memory, const Options &options,
           FaultLog &log)
    : kernel(kernel), launch(launch), options(options), memory(memory), log(log) {
  if (options.races) {
    races = std::make_unique<GridRaces>();
  }
}
Grid::~Grid() = default;

std::optional<uint64_t> Grid::takeCluster() {
  std::lock_guard<std::mutex> lock(queue);
  if (!startedElsewhere.empty()) {
    uint64_t index = startedElsewhere.front();
    startedElsewhere.pop_front();
    return index;
  }
  return nextCluster < clusterCount ? std::optional<uint64_t>(nextCluster++) : std::nullopt;
}

std::optional<uint64_t> Grid::cancelCluster(std::mt19937_64 &random) {
  std::lock_guard<std::mutex> lock(queue);
  while (nextCluster < clusterCount && (random() & 1) != 0) {
    startedElsewhere.push_back(nextCluster++);
  }
  return nextCluster < clusterCount ? std::optional<uint64_t>(nextCluster++) : std::nullopt;
}

void Grid::fault(FaultId id, const Twine &message) {
  Fault f;
  f.id = id;
  f.message = message.str();
  f.site.kernel = kernel.name;
  if (log.report(std::move(f))) {
    stop = true;
  }
}

static bool isSet(const uint32_t (&d)[3]) { return d[0] != 0; }

bool Grid::prepare() {
#if defined(__x86_64__) && defined(__AVX2__)
  // The library is built for these; see CMakeLists.txt.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fault(FaultId::Launch, "expected a host with AVX2 and FMA, but got an older one");
    return false;
  }
#endif
  uint64_t threads = launch.block.count();
  if (threads == 0 || threads > maxThreads) {
    fault(FaultId::ResThreads, "expected 1 to 1024 threads per CTA, but got " + Twine(threads));
    return false;
  }
  const Dim3 &b = launch.block;
  if (isSet(kernel.reqntid) &&
      (b.x != kernel.reqntid[0] || b.y != kernel.reqntid[1] || b.z != kernel.reqntid[2])) {
    fault(FaultId::ResThreads, "expected the block to be as .reqntid says, " +
                                   Twine(kernel.reqntid[0]) + "x" + Twine(kernel.reqntid[1]) + "x" +
                                   Twine(kernel.reqntid[2]) + ", but got " + Twine(b.x) + "x" +
                                   Twine(b.y) + "x" + Twine(b.z));
    return false;
  }
  if (isSet(kernel.maxntid) &&
      threads > uint64_t(kernel.maxntid[0]) * kernel.maxntid[1] * kernel.maxntid[2]) {
    fault(FaultId::ResThreads, "expected at most .maxntid threads, but got " + Twine(threads));
    return false;
  }
  clusterSize[0] = launch.hasCluster ? launch.cluster.x : 1;
  clusterSize[1] = launch.hasCluster ? launch.cluster.y : 1;
  clusterSize[2] = launch.hasCluster ? launch.cluster.z : 1;
  explicitCluster = launch.hasCluster || kernel.explicitCluster || isSet(kernel.reqcluster);
  if (isSet(kernel.reqcluster)) {
    for (unsigned i = 0; i < 3; ++i) {
      if (launch.hasCluster && clusterSize[i] != kernel.reqcluster[i]) {
        fault(FaultId::ResCluster, "expected the cluster to be as .reqnctapercluster says, but got "
                                   "dimension " +
                                       Twine(i) + " = " + Twine(clusterSize[i]));
        return false;
      }
      clusterSize[i] = kernel.reqcluster[i];
    }
  }
  uint64_t perCluster = uint64_t(clusterSize[0]) * clusterSize[1] * clusterSize[2];
  if (perCluster == 0 || perCluster > maxCluster) {
    fault(FaultId::ResCluster, "expected 1 to 16 CTAs per cluster, but got " + Twine(perCluster));
    return false;
  }
  const uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  for (unsigned i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] % clusterSize[i] != 0) {
      fault(FaultId::ResCluster, "expected the grid to be a multiple of the cluster, but got " +
                                     Twine(grid[i]) + " for " + Twine(clusterSize[i]));
      return false;
    }
  }
  if (kernel.tcgen05Group == 2 && perCluster % 2 != 0) {
    fault(FaultId::ResCluster,
          "expected an even cluster for cta_group::2, but got " + Twine(perCluster));
    return false;
  }
  clusterCount = launch.grid.count() / perCluster;
  // Virtual registers and local memory are the text's choice, so the host's
  // memory is guarded.
  uint64_t warps = divideCeil(threads, warpLanes) * perCluster;
  uint64_t hostBytes = warps * (kernel.registerBytes + uint64_t(2) * warpLanes * kernel.localBytes);
  if (hostBytes > maxHostBytes) {
    fault(FaultId::Incomplete, "expected registers and local memory of a cluster to take at most " +
                                   Twine(maxHostBytes) + " bytes of the host, but got " +
                                   Twine(hostBytes));
    return false;
  }
  dynamicOffset = alignTo(kernel.staticSharedBytes, kernel.dynamicAlignment);
  sharedBytes = dynamicOffset + launch.dynamicSharedBytes;
  if (sharedBytes > maxShared) {
    fault(FaultId::ResSmem,
          "expected at most 232448 bytes of shared memory, but got " + Twine(sharedBytes));
    return false;
  }
  // What ptxas may use: .maxnreg, or what lets minnctapersm CTAs fit; register
  // files are allocated in units of eight per thread.
  launchRegisters = launch.registers ? launch.registers : kernel.maxnreg;
  const uint32_t (&declared)[3] = isSet(kernel.reqntid) ? kernel.reqntid : kernel.maxntid;
  if (launchRegisters == 0 && isSet(declared) && kernel.minnctapersm != 0) {
    uint64_t most = uint64_t(declared[0]) * declared[1] * declared[2];
    uint64_t fit = registersPerSm / (alignTo(most, warpLanes) * kernel.minnctapersm);
    launchRegisters = std::min<uint64_t>(fit, maxRegisters) & ~7u;
  }
  if (alignTo(launchRegisters, 8) * alignTo(threads, warpLanes) > registersPerSm) {
    fault(FaultId::ResReg, "expected the registers of all threads to fit into 65536, but got " +
                               Twine(launchRegisters) + " for " + Twine(threads) + " threads");
    return false;
  }
  if (launch.params.size() != kernel.paramBytes) {
    fault(FaultId::Launch, "expected " + Twine(kernel.paramBytes) +
                               " bytes of parameters, but got " + Twine(launch.params.size()));
    return false;
  }
  params = Storage(kernel.paramBytes);
  if (kernel.paramBytes != 0) {
    std::memcpy(params.data(), launch.params.data(), kernel.paramBytes);
    std::memset(params.shadow(), shadowValid, kernel.paramBytes);
  }
  constantStorage.resize(kernel.constants.size() + laneAlignment);
  uint8_t *pool =
      reinterpret_cast<uint8_t *>(alignTo(uintptr_t(constantStorage.data()), laneAlignment));
  std::memcpy(pool, kernel.constants.data(), kernel.constants.size());
  constants = pool;
  for (const GlobalVariable &g : kernel.globals) {
    uint64_t address = memory.allocate(g.name, g.size, g.readOnly);
    memory.write(address, g.data);
    globalAddresses.push_back(address);
  }
  return true;
}

namespace {
/// What workers must know about each other to tell waiting from deadlock.
struct Crew {
  std::atomic<unsigned> active{0}, idle{0};
};

class Worker {
public:
  Worker(Grid &grid, Crew &crew) : grid(grid), crew(crew) {}
  void run();

private:
  bool startCluster();
  bool waitForOthers();
  void retire(size_t i);

  Grid &grid;
  Crew &crew;
  std::vector<std::unique_ptr<Cluster>> clusters;
};
} // namespace

bool Worker::startCluster() {
  std::optional<uint64_t> index = grid.takeCluster();
  if (!index) {
    return false;
  }
  clusters.push_back(std::make_unique<Cluster>(grid, *index));
  return true;
}

void Worker::retire(size_t i) {
  grid.instructions += clusters[i]->instructionCount();
  clusters.erase(clusters.begin() + i);
  grid.globalChanges.fetch_add(1);
  uint64_t done = ++grid.finished;
  if (grid.options.progress) {
    grid.options.progress(done, grid.clusterCount);
  }
}

/// All of our clusters wait. True: go on; false: deadlock or stop.
bool Worker::waitForOthers() {
  uint64_t seen = grid.globalChanges.load();
  ++crew.idle;
  // The last worker to fall idle gives the others time to notice each other's
  // changes before it speaks of a deadlock.
  for (unsigned round = 0; round < 200; ++round) {
    if (grid.stop || grid.globalChanges.load() != seen) {
      --crew.idle;
      return !grid.stop;
    }
    if (crew.idle.load() < crew.active.load()) {
      round = 0;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

void Worker::run() {
  ++crew.active;
  while (!grid.stop) {
    if (clusters.empty() && !startCluster()) {
      break;
    }
    bool ran = false;
    for (size_t i = 0; i < clusters.size();) {
      switch (clusters[i]->step()) {
      case Cluster::Progress::Stopped:
        --crew.active;
        return;
      case Cluster::Progress::Done:
        retire(i);
        ran = true;
        continue;
      case Cluster::Progress::Ran:
        ran = true;
        break;
      case Cluster::Progress::Idle:
        break;
      }
      ++i;
    }
    if (ran || clusters.empty()) {
      continue;
    }
    bool woke = false;
    for (auto &c : clusters) {
      woke |= c->timeOutWaits();
    }
    if (woke || (clusters.size() < grid.options.resident && startCluster())) {
      continue;
    }
    if (!waitForOthers()) {
      if (!grid.stop.exchange(true)) {
        for (auto &c : clusters) {
          c->reportDeadlock();
        }
      }
      break;
    }
  }
  for (auto &c : clusters) {
    grid.instructions += c->instructionCount();
  }
  --crew.active;
}

bool fa4::sim::runGrid(const Kernel &kernel, const Launch &launch, GlobalMemory &memory,
                       const Options &options, FaultLog &log, Statistics *statistics) {
  Grid grid(kernel, launch, memory, options, log);
  if (!grid.prepare()) {
    return false;
  }
  // The shadow of global memory is not made for several threads, and a run must be
  // repeatable.
  unsigned wanted = options.races || options.timeline ? 1 : options.threads;
  unsigned count = wanted ? wanted : std::thread::hardware_concurrency();
  count = std::max<uint64_t>(1, std::min<uint64_t>(count, grid.clusterCount));
  if (options.timeline) {
    options.timeline->startLaunch(kernel.name,
                                  llvm::divideCeil(launch.block.count(), uint64_t(warpLanes)));
  }
  Crew crew;
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i) {
    threads.emplace_back([&] { Worker(grid, crew).run(); });
  }
  Worker(grid, crew).run();
  for (std::thread &t : threads) {
    t.join();
  }
  if (statistics) {
    statistics->warpInstructions += grid.instructions;
    statistics->mmaFlops += grid.flops;
    statistics->clusters += grid.finished;
  }
  return !log.hasErrors() && !grid.stop;
}
