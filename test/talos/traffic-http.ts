// See traffic.ts.
export * from '../../internal/lab/demo/traffic-http.ts';
