//===- fa4-run.cpp - runs bundles on a GPU ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs neither MLIR nor CUDA to be built or installed, only a driver where it runs.
// Exit status: 0 done, 1 a result is wrong or a kernel failed, 2 a wrong command
// line, a file that cannot be read, no GPU for the code.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"
#include "PrintLaunch.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/WithColor.h"

#include <cmath>

using namespace llvm;
using namespace fa4;
using tool::GivenArgument;

static cl::OptionCategory category("fa4-run options");
static cl::opt<std::string> bundleFile(cl::Positional, cl::desc("<bundle.json>"),
                                       cl::cat(category));
static cl::list<std::string>
    argumentTexts("arg", cl::desc("Argument of the bundle, see BundleArguments.h"),
                  cl::value_desc("NAME=VALUE"), cl::cat(category));
static cl::list<std::string> outputs("out", cl::desc("Write a tensor after the run"),
                                     cl::value_desc("NAME=FILE.npy"), cl::cat(category));
static cl::list<std::string> expectations("expect", cl::desc("Compare a tensor after the run"),
                                          cl::value_desc("NAME=FILE.npy"), cl::cat(category));
static cl::opt<double> within("within", cl::init(0),
                              cl::desc("How far elements may be from --expect (default: equal "
                                       "bits)"),
                              cl::cat(category));
static cl::opt<std::string> moduleFile("module",
                                       cl::desc("The module that the bundle was compiled from: "
                                                "judge by the float64 reference, with fa4c"),
                                       cl::value_desc("FILE.mlir"), cl::cat(category));
static cl::opt<std::string> compiler("fa4c", cl::desc("Where fa4c is (default: beside this tool)"),
                                     cl::value_desc("file"), cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("Seed of random arguments"),
                              cl::cat(category));
static cl::opt<int> ordinal("device", cl::init(0), cl::desc("Number of the device"),
                            cl::cat(category));
static cl::opt<std::string> imageFile("image",
                                      cl::desc("Code to load (default: the cubin beside the "
                                               "bundle, else its PTX)"),
                                      cl::value_desc("file"), cl::cat(category));
static cl::opt<unsigned> repeat("repeat", cl::init(1),
                                cl::desc("Runs, whose results have to be equal bit by bit"),
                                cl::cat(category));
static cl::opt<bool> graph("graph", cl::desc("Run a captured graph of the launches"),
                           cl::cat(category));
static cl::opt<double> timeSeconds("time", cl::init(0), cl::desc("Time runs for this long"),
                                   cl::value_desc("seconds"), cl::cat(category));
static cl::opt<bool> printOnly("print",
                               cl::desc("Print the launches' numbers and stop; needs no "
                                        "GPU"),
                               cl::cat(category));
static cl::opt<unsigned> processors("processors", cl::init(1),
                                    cl::desc("Multiprocessors, for --print"), cl::cat(category));
static cl::opt<std::string> jobsFile("jobs",
                                     cl::desc("Do what each line of the file says, in one "
                                              "process"),
                                     cl::value_desc("file"), cl::cat(category));

namespace {
enum ExitCode { Done = 0, Wrong = 1, Unusable = 2 };

/// What all jobs of a process share.
class Machine {
public:
  Expected<std::shared_ptr<const runtime::CudaDevice>> open(int number);

private:
  std::optional<runtime::cuda::Driver> driver;
  std::map<int, std::shared_ptr<const runtime::CudaDevice>> devices;
};
} // namespace

Expected<std::shared_ptr<const runtime::CudaDevice>> Machine::open(int number) {
  if (!driver) {
    Expected<runtime::cuda::Driver> loaded = runtime::cuda::loadDriver();
    if (!loaded) {
      return loaded.takeError();
    }
    driver = *loaded;
  }
  std::shared_ptr<const runtime::CudaDevice> &device = devices[number];
  if (!device) {
    auto opened = runtime::CudaDevice::open(*driver, number);
    if (!opened) {
      return opened.takeError();
    }
    device = std::move(*opened);
  }
  return device;
}

static int report(Error e, ExitCode code) {
  WithColor::error(errs(), "fa4-run")
      << (bundleFile.empty() ? "" : bundleFile + ": ") << toString(std::move(e)) << '\n';
  return code;
}

static Expected<std::unique_ptr<MemoryBuffer>> readImage(const runtime::Bundle &bundle) {
  SmallString<128> beside(sys::path::parent_path(bundleFile));
  sys::path::append(beside, bundle.ptx);
  SmallString<128> cubin(beside);
  sys::path::replace_extension(cubin, "cubin");
  std::string path = !imageFile.empty()       ? imageFile.getValue()
                     : sys::fs::exists(cubin) ? cubin.str().str()
                                              : beside.str().str();
  auto file = MemoryBuffer::getFile(path);
  if (!file) {
    return createStringError(file.getError(), "expected code in '" + path +
                                                  "', but got: " + file.getError().message());
  }
  return std::move(*file);
}

/// The tensor and the file that NAME=FILE.npy names.
static Expected<std::pair<const GivenArgument *, StringRef>>
parseFile(ArrayRef<GivenArgument> arguments, StringRef spec) {
  auto [name, path] = spec.split('=');
  for (const GivenArgument &given : arguments) {
    if (given.declared->isTensor && given.declared->name == name && !path.empty() &&
        tool::npyTypeOf(given.declared->type)) {
      return std::pair(&given, path);
    }
  }
  return createStringError("expected NAME=FILE.npy with a tensor of the bundle, but got '" + spec +
                           "'");
}

/// Whether `got` is what the file has; the message names the worst element.
static Error compare(const GivenArgument &given, ArrayRef<uint8_t> bytes, StringRef path) {
  Expected<fa4::support::NpyArray> file = fa4::support::readNpy(path);
  if (!file) {
    return file.takeError();
  }
  fa4::support::NpyArray wanted = file->toCOrder();
  fa4::support::NpyArray got = tool::toArray(*given.declared, given.shape, bytes);
  if (wanted.type != got.type || wanted.shape != got.shape) {
    return createStringError("expected '" + path + "' to have the type and shape of '" +
                             given.declared->name + "', but got others");
  }
  int64_t count = 0, worst = -1;
  double largest = -1;
  unsigned size = fa4::support::npyTypeBytes(got.type);
  for (int64_t i = 0; i < got.numElements(); ++i) {
    if (std::equal(got.data.begin() + i * size, got.data.begin() + (i + 1) * size,
                   wanted.data.begin() + i * size)) {
      continue;
    }
    double distance = std::abs(got.getElement(i) - wanted.getElement(i));
    if (within > 0 && distance <= within) {
      continue;
    }
    ++count;
    distance = std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
    if (distance > largest) {
      largest = distance;
      worst = i;
    }
  }
  if (count == 0) {
    return Error::success();
  }
  return createStringError("expected '" + given.declared->name + "' to be as in '" + path +
                           "', but got " + Twine(count) + " other elements of " +
                           Twine(got.numElements()) + ": " + std::to_string(got.getElement(worst)) +
                           " instead of " + std::to_string(wanted.getElement(worst)) +
                           " at element " + Twine(worst));
}

/// Writes every tensor to files and asks fa4c what the reference says.
static Expected<int> judge(const tool::DeviceRun &run, StringRef chip) {
  std::string program = compiler;
  if (program.empty()) {
    std::string self = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&judge));
    ErrorOr<std::string> found = sys::findProgramByName("fa4c", {sys::path::parent_path(self)});
    if (!found) {
      found = sys::findProgramByName("fa4c");
    }
    if (!found) {
      return createStringError("expected fa4c beside fa4-run or on PATH, but got none; state it "
                               "with --fa4c");
    }
    program = *found;
  }
  SmallString<64> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("fa4-run", folder)) {
    return createStringError(code, "expected a temporary folder, but got: " + code.message());
  }
  scope_exit remove([&] {
    if (sys::fs::remove_directories(folder)) {
      WithColor::warning(errs(), "fa4-run")
          << "expected to remove '" << folder << "', but could not\n";
    }
  });
  std::vector<std::string> words = {program, "--target=" + chip.str(), "--check", moduleFile};
  for (const GivenArgument &given : run.getArguments()) {
    const std::string &name = given.declared->name;
    if (!given.declared->isTensor) {
      words.push_back("--scalar=" + name + "=" + given.text);
      continue;
    }
    Expected<std::vector<uint8_t>> bytes = run.read(given);
    if (!bytes) {
      return bytes.takeError();
    }
    SmallString<64> file(folder);
    sys::path::append(file, name + ".npy");
    if (Error e =
            fa4::support::writeNpy(file, tool::toArray(*given.declared, given.shape, *bytes))) {
      return std::move(e);
    }
    words.push_back("--input=" + name + "=" + file.str().str());
  }
  std::vector<StringRef> parts(words.begin(), words.end());
  std::string message;
  int code = sys::ExecuteAndWait(program, parts, std::nullopt, {}, 0, 0, &message);
  if (!message.empty()) {
    return createStringError("expected fa4c to run, but got: " + message);
  }
  return code;
}

/// Repeats the run and compares every result with the first.
static Error repeatRuns(tool::DeviceRun &run) {
  StringMap<std::vector<uint8_t>> first;
  unsigned runs = std::max(1U, unsigned(repeat));
  for (unsigned number = 1; number <= runs; ++number) {
    if (Error e = run.run(graph)) {
      return e;
    }
    for (const GivenArgument &given : run.getArguments()) {
      const runtime::Argument &declared = *given.declared;
      if (runs == 1 || !declared.isTensor || declared.access == runtime::Access::Read) {
        continue;
      }
      Expected<std::vector<uint8_t>> bytes = run.read(given);
      if (!bytes) {
        return bytes.takeError();
      }
      auto [known, isFirst] = first.try_emplace(declared.name, *bytes);
      if (!isFirst && known->second != *bytes) {
        return createStringError("expected run " + Twine(number) +
                                 " to give the bits of run 1 in '" + declared.name +
                                 "', but got others");
      }
    }
  }
  if (runs > 1) {
    outs() << runs << " runs, equal bits\n";
  }
  return Error::success();
}

/// Reads each tensor that `specs` (NAME=FILE.npy) name and hands it to `use`, whose
/// failure ends the tool with `failed`.
static int useEach(tool::DeviceRun &run, ArrayRef<std::string> specs, ExitCode failed,
                   function_ref<Error(const GivenArgument &, ArrayRef<uint8_t>, StringRef)> use) {
  for (const std::string &text : specs) {
    auto file = parseFile(run.getArguments(), text);
    if (!file) {
      return report(file.takeError(), Unusable);
    }
    auto [given, path] = *file;
    Expected<std::vector<uint8_t>> bytes = run.read(*given);
    if (!bytes) {
      return report(bytes.takeError(), Wrong);
    }
    if (Error e = use(*given, *bytes, path)) {
      return report(std::move(e), failed);
    }
  }
  return Done;
}

static int useResults(tool::DeviceRun &run, StringRef chip) {
  auto write = [](const GivenArgument &given, ArrayRef<uint8_t> bytes, StringRef path) {
    return fa4::support::writeNpy(path, tool::toArray(*given.declared, given.shape, bytes));
  };
  auto check = [](const GivenArgument &given, ArrayRef<uint8_t> bytes, StringRef path) -> Error {
    if (Error e = compare(given, bytes, path)) {
      return e;
    }
    outs() << given.declared->name << " as expected\n";
    return Error::success();
  };
  if (int code = useEach(run, outputs, Unusable, write)) {
    return code;
  }
  if (int code = useEach(run, expectations, Wrong, check)) {
    return code;
  }
  if (!moduleFile.empty()) {
    Expected<int> code = judge(run, chip);
    if (!code) {
      return report(code.takeError(), Unusable);
    }
    return *code;
  }
  return Done;
}

static int runJob(Machine &machine) {
  if (bundleFile.empty()) {
    return report(createStringError("expected a bundle, but got none"), Unusable);
  }
  auto bundle = runtime::readBundle(bundleFile);
  if (!bundle) {
    WithColor::error(errs(), "fa4-run") << toString(bundle.takeError()) << '\n';
    return Unusable;
  }
  std::vector<GivenArgument> arguments;
  for (const std::string &text : argumentTexts) {
    auto given = tool::parseArgument(*bundle, text, seed);
    if (!given) {
      return report(given.takeError(), Unusable);
    }
    arguments.push_back(std::move(*given));
  }
  if (printOnly) {
    if (Error e = tool::printLaunches(outs(), *bundle, arguments, processors)) {
      return report(std::move(e), Unusable);
    }
    return Done;
  }
  auto image = readImage(*bundle);
  if (!image) {
    return report(image.takeError(), Unusable);
  }
  auto device = machine.open(ordinal);
  if (!device) {
    return report(device.takeError(), Unusable);
  }
  auto run = tool::DeviceRun::create(*device, *bundle, (*image)->getBuffer(), std::move(arguments));
  if (!run) {
    return report(run.takeError(), Unusable);
  }
  if (Error e = repeatRuns(**run)) {
    return report(std::move(e), Wrong);
  }
  int code = useResults(**run, bundle->target);
  if (code == Done && timeSeconds > 0) {
    auto timing = (*run)->time(timeSeconds);
    if (!timing) {
      return report(timing.takeError(), Wrong);
    }
    outs() << format("milliseconds %.6f (%.6f..%.6f), %u blocks of %u runs\n", timing->median,
                     timing->lowerQuartile, timing->upperQuartile, timing->blocks,
                     timing->runsPerBlock);
  }
  return code;
}

/// Every line is a command line of its own, without the tool's name.
static int runJobs(Machine &machine, const char *tool) {
  auto file = MemoryBuffer::getFile(jobsFile);
  if (!file) {
    return report(createStringError(file.getError(), "expected a file of jobs, but got: " +
                                                         file.getError().message()),
                  Unusable);
  }
  unsigned passed = 0, failed = 0;
  int worst = Done;
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    BumpPtrAllocator memory;
    StringSaver saver(memory);
    SmallVector<const char *> words = {tool};
    cl::TokenizeGNUCommandLine(line, saver, words);
    cl::ResetAllOptionOccurrences();
    int code = Unusable;
    if (cl::ParseCommandLineOptions(int(words.size()), words.data(), "", &errs())) {
      code = runJob(machine);
    }
    outs() << (code == Done ? "ok   " : "FAIL ") << line << '\n';
    ++(code == Done ? passed : failed);
    worst = std::max(worst, code);
  }
  outs() << passed << " passed, " << failed << " failed\n";
  return passed == 0 ? int(Unusable) : worst;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "runs bundles on a GPU\n");
  Machine machine;
  return jobsFile.empty() ? runJob(machine) : runJobs(machine, argv[0]);
}
