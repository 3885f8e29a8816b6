/** The example of the package, served beside the flows of these tests; discovery looks into files that import the package. */
import "millrace";

export { weatherReport } from "../../../examples/weather/weather.ts";
