//===- PipelineLoopTest.cpp - rotated loops by value ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random loops of steps under random orders. Whether an order is legal is
// decided here by walking the trips of the order; the pass must agree, and what
// it accepts must give the bits of the loop as written, for every trip count.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

/// What a step reads or the loop carries on.
struct Operand {
  enum Kind { Step, Carried, Outer } kind = Outer;
  unsigned number = 0;
};

struct Step {
  Operand inputs[2];
  /// The scalar it reads: the trip, a number made from it, or a carried counter.
  unsigned scalar = 0;
  bool hasUnless = false;
};

struct Placed {
  unsigned step;
  unsigned stage;
};

constexpr unsigned kNumOuter = 2;

class RandomLoop {
public:
  explicit RandomLoop(unsigned seed) : random(seed) {
    unsigned numSteps = 2 + pick(3);
    numCarried = 1 + pick(3);
    for (unsigned number = 0; number < numSteps; ++number) {
      Step step;
      for (Operand &input : step.inputs) {
        input = pickOperand(number);
      }
      step.scalar = pick(3);
      step.hasUnless = pick(3) == 0;
      steps.push_back(step);
    }
    for (unsigned number = 0; number < numCarried; ++number) {
      // Mostly results of steps, as in a real loop; else anything.
      yields.push_back(pick(4) ? Operand{Operand::Step, pick(numSteps)} : pickOperand(numSteps));
    }
    for (unsigned number = 0; number < numSteps; ++number) {
      order.push_back({number, pick(3)});
    }
    std::shuffle(order.begin(), order.end(), random);
    promised = pick(4);
  }

  /// Walks the trips: every step must find done what it reads.
  bool isLegal() const {
    constexpr int kTrips = 6;
    std::vector<std::vector<bool>> done(steps.size(), std::vector<bool>(kTrips));
    for (int trip = 0; trip < kTrips + 3; ++trip) {
      for (const Placed &placed : order) {
        int iteration = trip - static_cast<int>(placed.stage);
        if (iteration < 0 || iteration >= kTrips) {
          continue;
        }
        for (const Operand &input : steps[placed.step].inputs) {
          if (!isDone(input, iteration, done)) {
            return false;
          }
        }
        done[placed.step][iteration] = true;
      }
    }
    return true;
  }

  /// Whether some step's result reaches nothing that the loop gives. The pipeline
  /// removes such a step, and then the order names a step that is not there.
  bool hasDeadStep() const {
    std::vector<bool> live(steps.size());
    for (const Operand &yielded : yields) {
      if (yielded.kind == Operand::Step) {
        live[yielded.number] = true;
      }
    }
    // A step reads only steps before it.
    for (size_t number = steps.size(); number-- > 0;) {
      for (const Operand &input : steps[number].inputs) {
        if (live[number] && input.kind == Operand::Step) {
          live[input.number] = true;
        }
      }
    }
    return llvm::is_contained(live, false);
  }

  std::string getText() const {
    std::string list;
    for (const Placed &placed : order) {
      list += (list.empty() ? "f" : ", f") + std::to_string(placed.step) + " at " +
              std::to_string(placed.stage);
    }
    return getDefs() + getKernel("plain", "") + getKernel("rotated", ", order = [" + list + "]") +
           R"(
      func.func @main(%X: memref<16x16xf32>, %A: memref<?x16x16xf32>, %B: memref<?x16x16xf32>, %n: i32) {
        %one = arith.constant 1 : i32
        tile.launch @plain(%X, %A, %n, %one) : memref<16x16xf32>, memref<?x16x16xf32>, i32, i32
        tile.launch @rotated(%X, %B, %n, %one) : memref<16x16xf32>, memref<?x16x16xf32>, i32, i32
        return
      })";
  }

  unsigned getNumCarried() const { return numCarried; }

private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random() % count); }

  Operand pickOperand(unsigned numSteps) {
    unsigned choice = pick(numSteps + numCarried + kNumOuter);
    if (choice < numSteps) {
      return {Operand::Step, choice};
    }
    if (choice < numSteps + numCarried) {
      return {Operand::Carried, choice - numSteps};
    }
    return {Operand::Outer, choice - numSteps - numCarried};
  }

  bool isDone(Operand operand, int iteration, const std::vector<std::vector<bool>> &done) const {
    while (operand.kind == Operand::Carried && iteration > 0) {
      operand = yields[operand.number];
      --iteration;
    }
    return operand.kind != Operand::Step || done[operand.number][iteration];
  }

  static std::string getName(const Operand &operand) {
    const char *names[] = {"%s", "%c", "%z"};
    return names[operand.kind] + std::to_string(operand.number);
  }

  /// No two steps compute the same function, none is symmetric.
  std::string getDefs() const {
    std::string text;
    for (unsigned number = 0; number < steps.size(); ++number) {
      std::string name = std::to_string(number);
      text +=
          "tile.def @f" + name +
          R"((%x: !tile.frag<16x16xf32>, %y: !tile.frag<16x16xf32>, %w: i32) -> !tile.frag<16x16xf32> {
        %a = arith.constant 0.5 : f32
        %b = arith.constant 0.75 : f32
        %k = arith.constant )" +
          name + R"(.25 : f32
        %wf = arith.sitofp %w : i32 to f32
        %v = arith.mulf %wf, %k : f32
        %z = tile.map (%p = %x, %q = %y) : (!tile.frag<16x16xf32>, !tile.frag<16x16xf32>) -> !tile.frag<16x16xf32> {
          %r = arith.mulf %p, %a : f32
          %s = math.fma %q, %b, %r : f32
          %t = arith.addf %s, %v : f32
          tile.yield %t : f32
        }
        tile.yield %z : !tile.frag<16x16xf32>
      }
)";
    }
    return text;
  }

  std::string getKernel(const std::string &name, const std::string &clause) const {
    const std::string tile = "!tile.frag<16x16xf32>";
    std::string body, inits, types, next, stores;
    for (unsigned number = 0; number < steps.size(); ++number) {
      const Step &step = steps[number];
      const char *scalars[] = {"%i", "%j", "%count"};
      body += "%s" + std::to_string(number) + " = tile.step @f" + std::to_string(number) + "(" +
              getName(step.inputs[0]) + ", " + getName(step.inputs[1]) + ", " +
              scalars[step.scalar] + ")" + (step.hasUnless ? " unless(%first)" : "") + " : (" +
              tile + ", " + tile + ", i32) -> " + tile + "\n";
    }
    for (unsigned number = 0; number < numCarried; ++number) {
      std::string suffix = std::to_string(number);
      inits += "%c" + suffix + " = %z" + std::to_string(number % kNumOuter) + ", ";
      types += tile + ", ";
      next += getName(yields[number]) + ", ";
      stores += "%o" + suffix + " = arith.constant " + suffix + " : i32\ntile.store %r#" + suffix +
                " to %O[%o" + suffix + "] : " + tile + ", !tile.global<1x16x16xf32>\n";
    }
    return "tile.kernel @" + name +
           R"((%X: !tile.global<16x16xf32>, %O: !tile.global<1x16x16xf32>, %trips: i32, %nt: i32)
        target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16)" +
           clause +
           R"(>) {
        tile.work @work(%w) tiles(%nt : i32) uses(%trips : i32) -> (%t, %n) facts()" +
           std::to_string(promised) + R"( <= %n) {
          tile.yield %w, %trips : i32, i32
        }
        tile.for_each_tile (%t, %n) in @work {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %seven = arith.constant 7 : i32
          %z0 = tile.load %X[] : !tile.global<16x16xf32> -> )" +
           tile + R"(
          %two = arith.constant 2.0 : f32
          %z1 = tile.splat %two : f32 -> )" +
           tile + R"(
          %r:)" +
           std::to_string(numCarried + 1) + " = scf.for %i = %zero to %n step %one iter_args(" +
           inits + "%count = %seven) -> (" + types + R"(i32) : i32 {
            %first = arith.cmpi eq, %i, %zero : i32
            %j = arith.subi %seven, %i : i32
            )" +
           body + R"(
            %more = arith.addi %count, %seven : i32
            scf.yield )" +
           next + "%more : " + types + R"(i32
          }
          )" +
           stores + "}\n}\n";
  }

  std::mt19937 random;
  std::vector<Step> steps;
  unsigned numCarried;
  std::vector<Operand> yields;
  std::vector<Placed> order;
  /// The trips that the work promises.
  unsigned promised;
};

/// Whether the pass takes the order.
bool isAccepted(const std::string &text) {
  mlir::MLIRContext &context = testContext();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  manager.nest<fa4::tile::KernelOp>().addPass(fa4::tile::createTilePipelineLoop());
  return module && mlir::succeeded(manager.run(*module));
}

TEST(PipelineLoop, AgreesWithTheTripsAboutWhatIsLegal) {
  unsigned numLegal = 0, numCases = 400;
  for (unsigned seed = 0; seed < numCases; ++seed) {
    RandomLoop loop(seed);
    ASSERT_EQ(isAccepted(loop.getText()), loop.isLegal()) << seed << "\n" << loop.getText();
    numLegal += loop.isLegal() ? 1 : 0;
  }
  // Both verdicts must have been tried.
  EXPECT_GT(numLegal, numCases / 10);
  EXPECT_LT(numLegal, numCases * 9 / 10);
}

TEST(PipelineLoop, RotatedLoopsGiveTheSameBits) {
  unsigned numRun = 0;
  for (unsigned seed = 1000; numRun < 24; ++seed) {
    RandomLoop loop(seed);
    if (!loop.isLegal() || loop.hasDeadStep()) {
      continue;
    }
    ++numRun;
    auto program = compileText(loop.getText());
    ASSERT_TRUE(program) << loop.getText();
    auto x = makeArray(NpyType::F32, {16, 16});
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
      x->set(index, 0.125 * static_cast<double>(number));
    });
    for (int32_t trips = 0; trips < 7; ++trips) {
      llvm::SmallVector<int64_t> shape{loop.getNumCarried(), 16, 16};
      auto plain = makeArray(NpyType::F32, shape);
      auto rotated = makeArray(NpyType::F32, shape);
      runMain(*program, {x, plain, rotated, trips});
      ASSERT_TRUE(haveEqualBits(*plain, *rotated)) << seed << " " << trips << "\n"
                                                   << loop.getText();
      ASSERT_NE(plain->get({0, 1, 1}), 0.0) << seed;
    }
  }
}

} // namespace
