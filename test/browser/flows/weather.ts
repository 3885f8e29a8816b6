/** The example, served beside the flows of these tests; the import makes discovery consider this file. */
import "millrace";

export { weatherReport } from "../../../examples/weather/weather.ts";
