/** The example of millrace, served beside the flows of these tests; the word makes discovery look into this file. */
export { weatherReport } from "../../../examples/weather/weather.ts";
